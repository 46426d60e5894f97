/**
 * Finds out that a container's command could not be run (CONT-17). Its init process reports that on stderr,
 * where the command may write the same words. So the engine must confirm that there is no such program, where
 * it can still look into the container.
 */
import type { IncomingMessage } from 'node:http';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { statusOf } from '../docker-error.ts';

/** Exit codes that mean, by the shell's convention, that the command could not be run. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
/** A command that could not be run has ended within this time, by the engine's clock. */
const MOST_RUN_MS = 5_000;
/** The path of a container without one of its own, as the engine sets it. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Bit of a folder in Go's file mode. */
const MODE_FOLDER = 0x8000_0000;
/** The header before each piece of output: its source and its length. */
const FRAME_BYTES = 8;
const STDERR = 2;

/** The init process's message. Undefined if the command was run, or if that can't be ruled out. */
export async function startErrorOf(docker: Docker, info: ContainerInspectInfo): Promise<string | undefined> {
  const { ExitCode, StartedAt, FinishedAt } = info.State;
  if (!info.HostConfig.Init || (ExitCode !== NOT_FOUND && ExitCode !== NOT_EXECUTABLE)) return undefined;
  if (Date.parse(FinishedAt) - Date.parse(StartedAt) > MOST_RUN_MS) return undefined;
  const container = docker.getContainer(info.Id);
  const output = await container.logs({ stdout: true, stderr: true, tail: 2 });
  const failure = `exec ${info.Path} failed: `;
  const reason = onlyLineOf(output)?.split(failure)[1];
  if (reason === undefined) return undefined;
  return (await isRunnable(container, info)) ? undefined : `${failure}${reason}`;
}

/** The init process's line, if it is all that the container has written. */
function onlyLineOf(output: Buffer): string | undefined {
  if (output[0] !== STDERR || output.readUInt32BE(4) !== output.length - FRAME_BYTES) return undefined;
  return /^\[FATAL tini \(\d+\)\] (.*)\n$/.exec(output.subarray(FRAME_BYTES).toString())?.[1];
}

/** Whether the engine finds a file that may be executed, where the init process looks for the command. */
async function isRunnable(
  container: Docker.Container,
  { Path, Config }: ContainerInspectInfo,
): Promise<boolean> {
  for (const place of placesOf(Path, Config)) {
    const found = await modeOf(container, place);
    if (found !== undefined && (found & MODE_FOLDER) === 0 && (found & 0o111) !== 0) return true;
  }
  return false;
}

function placesOf(command: string, { WorkingDir, Env }: ContainerInspectInfo['Config']): string[] {
  if (command.startsWith('/')) return [command];
  if (command.includes('/')) return [`${WorkingDir || '/'}/${command}`];
  const path = Env?.findLast((one) => one.startsWith('PATH='))?.slice('PATH='.length) ?? DEFAULT_PATH;
  return path.split(':').map((folder) => `${folder || WorkingDir || '/'}/${command}`);
}

/** Links followed. Undefined if there is nothing at the path. */
async function modeOf(container: Docker.Container, path: string): Promise<number | undefined> {
  const seen = await statOf(container, path);
  return seen?.linkTarget ? (await statOf(container, seen.linkTarget))?.mode : seen?.mode;
}

interface Stat {
  mode: number;
  /** Within the container, all links followed. */
  linkTarget: string;
}

async function statOf(container: Docker.Container, path: string): Promise<Stat | undefined> {
  try {
    const answer = (await container.infoArchive({ path })) as IncomingMessage;
    answer.resume();
    const { 'x-docker-container-path-stat': encoded = '' } = answer.headers;
    const text = Buffer.from(String(encoded), 'base64').toString();
    return JSON.parse(text) as Stat;
  } catch (error) {
    // There is no such file, or the engine can't look: it does not mount pinned folders after the end.
    if (statusOf(error) !== undefined) return undefined;
    throw error;
  }
}
