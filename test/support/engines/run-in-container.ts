/** Runs programs in containers of a real engine. */
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { eventually } from '../tools/eventually.ts';

export interface Ended {
  code: number;
  output: string;
}

/** Runs a program to its end. */
export async function outcomeIn(container: Docker.Container, ...command: string[]): Promise<Ended> {
  const exec = await container.exec({ Cmd: command, AttachStdout: true, AttachStderr: true, Tty: true });
  const output = (await text(await exec.start({ Tty: true }))).replaceAll('\r\n', '\n');
  // Without output it may not have begun yet. Then it neither runs nor has a code.
  const code = await eventually(async () => (await exec.inspect()).ExitCode ?? undefined);
  return { code: code ?? -1, output };
}

/** The output of a program that must succeed. */
export async function runIn(docker: Docker, container: string, ...command: string[]): Promise<string> {
  const { code, output } = await outcomeIn(docker.getContainer(container), ...command);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${output}`);
  return output.trim();
}
