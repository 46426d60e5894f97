/**
 * Decides which recorded images nobody uses (P182, P183). Pure: `pulls/own-images.ts` reads the engine and
 * removes.
 */
import { repositoryOf } from './image-name.ts';

/** An image that this deployment pulled. Times are in ms of the wall clock. */
export interface RecordedImage {
  /** Its canonical name. */
  image: string;
  /** The engine's id of the image. Null while its pull has not ended. */
  id: string | null;
  /** When it was last seen in use. */
  usedMs: number;
}

/** An image of the engine, with its canonical names: tags and digests. */
export interface EngineImage {
  id: string;
  parentId: string;
  names: readonly string[];
}

/** What the engine and the agent use at a moment. */
export interface Uses {
  images: readonly EngineImage[];
  /** Ids of the images of all containers, of anybody. */
  ofContainers: ReadonlySet<string>;
  /** Canonical names of the images that assignments want, and of those being pulled. */
  wanted: ReadonlySet<string>;
  /** Those being pulled. */
  pulling: ReadonlySet<string>;
}

/**
 * `absent`: the engine does not have it. `foreign`: the name now belongs to another image, or a pull that
 * never reported its end began too long ago. `new`: the image of such a pull that began a short time ago.
 */
export type Standing = 'absent' | 'foreign' | 'new' | 'used' | 'unused';

/** An agent that was killed during a pull has this long to find its image. Later it may be another's. */
const ADOPT_WITHIN_MS = 3_600_000;

/** `recorded`: all images of the record. */
export function standingOf(
  { image, id, usedMs }: RecordedImage,
  recorded: readonly RecordedImage[],
  uses: Uses,
  nowMs: number,
): Standing {
  if (uses.pulling.has(image)) return 'used';
  const found = uses.images.find(({ names }) => names.includes(image));
  if (!found) return 'absent';
  if (id === null) return nowMs - usedMs < ADOPT_WITHIN_MS ? 'new' : 'foreign';
  if (found.id !== id) return 'foreign';
  return isUsed(found, recorded, uses) ? 'used' : 'unused';
}

function isUsed({ id, names }: EngineImage, recorded: readonly RecordedImage[], uses: Uses): boolean {
  const { images, ofContainers, wanted } = uses;
  return (
    ofContainers.has(id) ||
    [...wanted].some((name) => names.includes(name) || isPrefix(name, id)) ||
    images.some(({ parentId }) => parentId === id) ||
    names.some((name) => !isOwn(name, id, recorded))
  );
}

/** Images can also be named by the beginning of their id. */
function isPrefix(name: string, id: string): boolean {
  const text = name.replace(/:latest$/, '');
  return id.startsWith(text) || id.replace(/^sha256:/, '').startsWith(text);
}

/** With a tag the engine also keeps the digest under which the registry had it. */
function isOwn(name: string, id: string, recorded: readonly RecordedImage[]): boolean {
  const own = recorded.filter((one) => one.id === id).map(({ image }) => image);
  return own.includes(name) || (name.includes('@') && own.map(repositoryOf).includes(repositoryOf(name)));
}

/** The least recently used first. */
export const byUse = (a: RecordedImage, b: RecordedImage): number => a.usedMs - b.usedMs;
