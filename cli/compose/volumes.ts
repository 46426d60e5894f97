/** Makes volumes of a description out of the folders of the host that a Compose service mounts. Pure. */
import { resolve } from 'node:path';
import { MAX_ENTRIES, type ServiceDescription } from '../../shared/application-schema.ts';
import type { Path, Remarks } from './remarks.ts';
import type { ComposeVolume } from './schema.ts';
import type { LookUp } from './variables/interpolation.ts';

type Volume = ServiceDescription['volumes'][number];

export interface Folders {
  /** The folder of the Compose file: relative paths begin there. */
  folder: string;
  lookUp: LookUp;
}

/** Where containers find a volume. */
const MOUNTS = '/mnt/';
const IS_PATH = /^(?:\/|\.|~)/;
const IS_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

/** The volumes by their place in the file. */
export function volumesOf(
  given: readonly ComposeVolume[],
  folders: Folders,
  base: Path,
  remarks: Remarks,
): { path: Path; volume: Volume }[] {
  const names = new Set<string>();
  const volumes: { path: Path; volume: Volume }[] = [];
  for (const [at, entry] of given.entries()) {
    const path = [...base, at];
    const mount = typeof entry === 'string' ? short(entry, path, remarks) : long(entry, path, remarks);
    if (!mount || volumes.length > MAX_ENTRIES) continue;
    const name = freeName(mount.target, names);
    names.add(name);
    if (mount.target !== `${MOUNTS}${name}`)
      remarks.note(path, `is mounted at ${MOUNTS}${name} here, and not at ${mount.target}`);
    volumes.push({
      path,
      volume: { name, path: absolute(mount.source, folders), read_only: mount.isReadOnly },
    });
  }
  return volumes;
}

interface Mount {
  source: string;
  target: string;
  isReadOnly: boolean;
}

function short(text: string, path: Path, remarks: Remarks): Mount | undefined {
  const [source = '', target, mode = ''] = text.split(':', 3);
  if (target === undefined || !IS_PATH.test(source)) return withoutFolder(path, remarks);
  const options = mode.split(',').filter((option) => !['', 'rw', 'ro'].includes(option));
  if (options.length > 0) remarks.leaveOut(path, `a folder is mounted without options such as ${options[0]}`);
  return { source, target, isReadOnly: mode.split(',').includes('ro') };
}

function long(entry: Exclude<ComposeVolume, string>, path: Path, remarks: Remarks): Mount | undefined {
  const { type, source, target, read_only: isReadOnly } = entry;
  if (type !== 'bind' || source == null || !IS_PATH.test(source)) return withoutFolder(path, remarks);
  return { source, target, isReadOnly };
}

function withoutFolder(path: Path, remarks: Remarks): undefined {
  const reason = 'only folders of the host are volumes here, such as /srv/data:/mnt/data or ./data:/mnt/data';
  remarks.leaveOut(path, reason);
}

/** By the last part of the path in the container. */
function freeName(target: string, names: ReadonlySet<string>): string {
  const last = target.split('/').findLast((part) => part !== '') ?? '';
  const name = IS_NAME.test(last) ? last : `volume${last.replaceAll(/[^a-zA-Z0-9._-]+/g, '-')}`;
  if (!names.has(name)) return name;
  for (let n = 2; ; n++) if (!names.has(`${name}-${n}`)) return `${name}-${n}`;
}

function absolute(source: string, { folder, lookUp }: Folders): string {
  const home = lookUp('HOME');
  const path = home !== undefined && /^~(\/|$)/.test(source) ? `${home}${source.slice(1)}` : source;
  return resolve(folder, path);
}
