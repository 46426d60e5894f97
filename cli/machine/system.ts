/** Programs of the operating system: systemd, and the administration of users. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const promised = promisify(execFile);

/** Runs a program to its end. Resolves to its standard output, and throws what it has said if it fails. */
export const run = (file: string, ...args: string[]): Promise<string> => runIn(process.env, file, ...args);

/** `env` is its whole environment. */
export async function runIn(env: NodeJS.ProcessEnv, file: string, ...args: string[]): Promise<string> {
  try {
    return (await promised(file, args, { env })).stdout;
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new Error(`${file} ${args.join(' ')} failed: ${stderr.trim() || message}`, { cause: error });
  }
}

/** Throws with the way out unless this is root, on Linux with systemd. */
export function assertServiceMachine(): void {
  if (process.platform !== 'linux' || !existsSync('/run/systemd/system'))
    throw new Error(
      'This machine does not run systemd: let your service manager run berth server, or use the image.',
    );
  if (process.getuid?.() !== 0) throw new Error('This needs root: run it with sudo --preserve-env.');
}

export function hasUser(name: string): boolean {
  try {
    execFileSync('id', ['-u', name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
