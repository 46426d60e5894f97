/** Owns finding out that a container's command could not be run at all, where its init process was the one to see it. */
import type Docker from 'dockerode';

/** Exit codes by which the shell's convention tells that a command could not be run. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/** The init process says so where the command's output goes; undefined: the command was run. */
export async function startErrorOf(
  docker: Docker,
  id: string,
  exitCode: number,
): Promise<string | undefined> {
  if (exitCode !== NOT_FOUND && exitCode !== NOT_EXECUTABLE) return undefined;
  const output = await docker.getContainer(id).logs({ stderr: true, tail: 1 });
  return /\[FATAL tini \(\d+\)\] (exec .* failed: .*)/.exec(output.toString())?.[1];
}
