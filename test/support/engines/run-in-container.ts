/** Runs programs in containers of a real engine. */
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { eventually } from '../tools/eventually.ts';

/** Runs a program to its end. Returns its output; throws if it fails. */
export async function runIn(docker: Docker, container: string, ...command: string[]): Promise<string> {
  const exec = await docker
    .getContainer(container)
    .exec({ Cmd: command, AttachStdout: true, AttachStderr: true, Tty: true });
  const output = (await text(await exec.start({ Tty: true }))).trim();
  // Without output it may not have begun yet. Then it neither runs nor has a code.
  const code = await eventually(async () => (await exec.inspect()).ExitCode ?? undefined);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${output}`);
  return output;
}
