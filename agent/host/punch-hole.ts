/**
 * Frees the beginning of a file, by the program `fallocate` of util-linux: Node has no such call. The file
 * keeps its size and all other bytes their positions.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram, foreignEnv } from '../system-programs.ts';

const TIMEOUT_MS = 30_000;

/** Names a file that this process has open for another process, whose own `/proc/self` is different. */
const foreignPath = (path: string): string => path.replace(/^\/proc\/self\//, `/proc/${process.pid}/`);

/** Throws if the program is not installed or the file system has no holes. */
export async function punchHole(path: string, bytes: number): Promise<void> {
  const program = await findProgram('fallocate');
  if (!program) throw new Error('the program fallocate (of util-linux) is not installed');
  const argv = ['--punch-hole', '--offset', '0', '--length', String(bytes), foreignPath(path)];
  await promisify(execFile)(program, argv, { env: foreignEnv(process.env), timeout: TIMEOUT_MS });
}
