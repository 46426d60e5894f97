/** `berth cp`: copies files and folders into a running service, and out of it. */
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import type { ClientStream } from '../../client/streams.ts';
import { Exit, INTERRUPTED } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { packFiles, packInput } from './pack.ts';
import { serviceAt } from './place.ts';
import { CopyReport } from './report.ts';
import { passArchive, unpack } from './unpack.ts';

interface Remote {
  service: string;
  path: string;
}

const REMOTE = /^([1-9]\d{0,14}(?:\/[^:/]+)?):(.*)$/s;
const PIPE = '-';

export function addCopyCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('cp <from> <to>')
    .description(
      'Copy a file or folder into a running service (ID/SERVICE:PATH), or out of it; - is a tar archive',
    )
    .option('-q, --quiet', 'say nothing of the progress')
    .action((from: string, to: string, { quiet = false }: { quiet?: boolean }) =>
      copy(terminal, connect, from, to, quiet),
    );
}

async function copy(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  from: string,
  to: string,
  quiet: boolean,
): Promise<void> {
  const [source, target] = [remoteOf(from), remoteOf(to)];
  const remote = source ?? target;
  if (!remote || (source && target))
    throw new Error('Exactly one of the two must be in a service, such as 12:/tmp/data or 12/worker0:/srv.');
  const berth = await connect();
  const service = await serviceAt(berth, remote.service);
  const report = new CopyReport(terminal, quiet);
  const stop = new Stop(terminal);
  try {
    if (source) await copyOut(terminal, berth, { service, path: source.path }, to, report, stop);
    else await copyIn(terminal, berth, { service, path: remote.path }, from, report, stop);
  } catch (error) {
    report.clear();
    throw stop.isRequested
      ? new Exit(INTERRUPTED, 'The copy was interrupted; nothing of it is left.')
      : error;
  } finally {
    stop.end();
  }
  report.done();
}

interface Place {
  service: number;
  path: string;
}

async function copyIn(
  terminal: Terminal,
  berth: Berth,
  { service, path }: Place,
  from: string,
  report: CopyReport,
  stop: Stop,
): Promise<void> {
  const { name, archive } =
    from === PIPE
      ? await packInput(terminal, report)
      : { name: basename(resolve(from)), archive: packFiles(from, report) };
  if (name === '') throw new Error('Name a folder to copy: the root of this machine can not be copied.');
  const stream = stop.of(await berth.copyIn(service, path, name));
  try {
    for await (const bytes of archive) {
      if (stream.isOver) break;
      await stream.write(bytes);
    }
    stream.end();
    // Throws if the copy was refused.
    for await (const _ of stream.output());
  } finally {
    stream.close();
  }
}

async function copyOut(
  terminal: Terminal,
  berth: Berth,
  { service, path }: Place,
  to: string,
  report: CopyReport,
  stop: Stop,
): Promise<void> {
  const target = to === PIPE ? undefined : await targetOf(to, path);
  const stream = stop.of(await berth.copyOut(service, path));
  try {
    const chunks = wholeOutput(stream);
    if (target === undefined) await passArchive(chunks, terminal, report);
    else await inFolder(dirname(target), (part) => unpack(chunks, join(part, 'x'), report), target);
  } finally {
    stream.close();
  }
}

/** Makes a copy in a folder with a name of its own, and gives it its name once it is whole. */
async function inFolder(
  parent: string,
  make: (folder: string) => Promise<void>,
  target: string,
): Promise<void> {
  const part = join(parent, `.berth-cp-${randomBytes(8).toString('hex')}`);
  await mkdir(part, { mode: 0o700 });
  try {
    await make(part);
    await rename(join(part, 'x'), target);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** Throws if the archive is not whole. */
async function* wholeOutput(stream: ClientStream): AsyncGenerator<Uint8Array> {
  yield* stream.output();
  if (stream.exitCode !== 0) throw new Error('The copy broke off.');
}

/** Where a copy of `path` goes on this machine. Throws if a folder is there. */
async function targetOf(to: string, path: string): Promise<string> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isNameless = name === '' || name === '.' || name === '..';
  const isFolder = (place: string) =>
    stat(place).then(
      (one) => one.isDirectory(),
      () => false,
    );
  const isInto = await isFolder(to);
  if (isInto && isNameless)
    throw new Error(`${path} has no name: give the copy one, as in ${join(to, 'copy')}.`);
  const target = resolve(isInto ? join(to, name) : to);
  if (await isFolder(target))
    throw new Error(`${target} is a folder that exists: remove it first, or copy to another name.`);
  if (!(await isFolder(dirname(target)))) throw new Error(`There is no folder ${dirname(target)}.`);
  return target;
}

/** Undefined for a path on this machine. */
function remoteOf(text: string): Remote | undefined {
  const [, service, path] = REMOTE.exec(text) ?? [];
  if (service === undefined || path === undefined) return undefined;
  if (path === '') throw new Error(`${text} has no path; give one such as ${service}:/tmp.`);
  return { service, path: path.startsWith('/') ? path : `/${path}` };
}

/** Ends the stream on a signal, so that what is not whole is removed. */
class Stop {
  readonly #ends: (() => void)[];
  #stream: ClientStream | undefined;
  isRequested = false;

  constructor(terminal: Terminal) {
    const stop = () => {
      this.isRequested = true;
      this.#stream?.close();
    };
    this.#ends = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => terminal.onSignal(signal, stop));
  }

  of(stream: ClientStream): ClientStream {
    this.#stream = stream;
    if (this.isRequested) stream.close();
    return stream;
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}
