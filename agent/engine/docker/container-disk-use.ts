/**
 * Measures what a container holds on the engine's disk (CONT-70). The program `find` counts the files where
 * the agent can read them; elsewhere the engine measures the writable layer. Never changes anything.
 */
import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { findProgram, foreignEnv } from '../../system-programs.ts';
import { engineError, statusOf } from '../docker-error.ts';
import type { DiskUse } from '../engine.ts';
import { deletedBytes } from '../processes/deleted-files.ts';

/** The client library accepts these options, but its types do not declare them. */
interface Measurable {
  inspect(options: { size?: true; abortSignal: AbortSignal }): Promise<ContainerInspectInfo & Measured>;
}

interface Measured {
  SizeRw?: number;
  GraphDriver?: { Data?: { UpperDir?: string } | null } | null;
}

/** The engine returns nothing before it has counted everything, so it gets more time. */
const ENGINE_FACTOR = 4;

type Files = Pick<DiskUse, 'bytes' | 'files' | 'isComplete'>;

/** `outputFile`: undefined if the agent cannot read the engine's files. Throws EngineError. */
export async function readDiskUse(
  docker: Docker,
  id: string,
  outputFile: string | undefined,
  limitMs: number,
): Promise<DiskUse | undefined> {
  const container = docker.getContainer(id) as unknown as Measurable;
  const deadline = { abortSignal: AbortSignal.timeout(limitMs) };
  try {
    const info = await container.inspect(deadline);
    const layer = outputFile === undefined ? undefined : info.GraphDriver?.Data?.UpperDir;
    const folders = layer && [layer, ...(await volumesOf(docker, info, layer, deadline))];
    const files = folders && (await countFiles(folders, limitMs));
    const outputBytes = outputFile === undefined ? 0 : await bytesOf(outputFile);
    const mounted = outputFile === undefined ? 0 : await mountedBytes(info);
    if (files && layer) {
      const hidden = await deletedBytes({ id, pid: info.State.Pid }, layer, limitMs);
      return { ...files, bytes: files.bytes + mounted + hidden, outputBytes };
    }
    const slowDeadline = { abortSignal: AbortSignal.timeout(ENGINE_FACTOR * limitMs) };
    const { SizeRw = 0 } = await container.inspect({ size: true, ...slowDeadline });
    return { bytes: SizeRw + mounted, outputBytes, files: null, isComplete: true };
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw engineError(error);
  }
}

/** Folders of the anonymous volumes on the file system of the layer. Pinned host folders have options. */
async function volumesOf(
  docker: Docker,
  { Mounts }: ContainerInspectInfo,
  layer: string,
  options: { abortSignal: AbortSignal },
): Promise<string[]> {
  const folders: string[] = [];
  for (const { Type, Name, Source } of Mounts) {
    if (Type !== 'volume' || Name === undefined) continue;
    const { Options } = await docker.getVolume(Name).inspect(options);
    const isAnonymous = Object.keys(Options ?? {}).length === 0;
    if (isAnonymous && (await deviceOf(Source)) === (await deviceOf(layer))) folders.push(Source);
  }
  return folders;
}

const deviceOf = async (path: string): Promise<number | undefined> =>
  (await stat(path).catch(() => undefined))?.dev;

const bytesOf = async (path: string): Promise<number> =>
  ((await stat(path).catch(() => undefined))?.blocks ?? 0) * 512;

/** The files that the engine mounts in the container's /etc from its own folder. The container may write. */
async function mountedBytes(info: ContainerInspectInfo): Promise<number> {
  const { HostsPath, HostnamePath, ResolvConfPath } = info;
  const sizes = await Promise.all([HostsPath, HostnamePath, ResolvConfPath].map(bytesOf));
  return sizes.reduce((total, bytes) => total + bytes, 0);
}

/** Undefined if the files cannot be counted here: no GNU `find`, or no permission. */
export async function countFiles(folders: readonly string[], limitMs: number): Promise<Files | undefined> {
  const program = await findProgram('find');
  if (!program) return undefined;
  // A folder has a link for each folder within it.
  const format = ['(', '-type', 'd', '-printf', '%b 1\n', '-o', '-printf', '%b %n\n', ')'];
  const args = [...folders, '-xdev', ...format];
  const child = spawn(program, args, {
    env: { ...foreignEnv(process.env), LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  const counted = { bytes: 0, files: 0 };
  let isDenied = false;
  const ended = new Promise<NodeJS.Signals | null>((done, fail) => {
    child.on('error', fail);
    child.on('close', (_, signal) => done(signal));
  });
  child.stderr.on('data', (text) => {
    isDenied ||= /permission denied/i.test(String(text));
  });
  const decoder = new StringDecoder('latin1');
  let rest = '';
  child.stdout.on('data', (bytes) => {
    const lines = (rest + decoder.write(bytes)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) addTo(counted, line);
  });
  const signal = await ended.catch(() => null);
  // Every folder counts itself, so a count of nothing is a failure.
  if (isDenied || counted.files === 0) return undefined;
  return { bytes: Math.round(counted.bytes), files: Math.round(counted.files), isComplete: signal === null };
}

/** Adds a line with the blocks of 512 bytes and the number of links. Several links of one file count once. */
function addTo(counted: { bytes: number; files: number }, line: string): void {
  const [blocks = 0, links = 1] = line.split(' ').map(Number);
  counted.bytes += (blocks * 512) / links;
  counted.files += 1 / links;
}
