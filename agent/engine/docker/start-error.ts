/** Detects that a container's command could not be run, if its init process reported it (CONT-17). */
import type Docker from 'dockerode';

/** Exit codes that mean, by the shell's convention, that the command could not be run. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/** Reads the init process's message from the command's stderr. Undefined if the command was run. */
export async function startErrorOf(
  docker: Docker,
  id: string,
  exitCode: number,
): Promise<string | undefined> {
  if (exitCode !== NOT_FOUND && exitCode !== NOT_EXECUTABLE) return undefined;
  const output = await docker.getContainer(id).logs({ stderr: true, tail: 1 });
  return /\[FATAL tini \(\d+\)\] (exec .* failed: .*)/.exec(output.toString())?.[1];
}
