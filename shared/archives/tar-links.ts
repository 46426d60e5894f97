/** The symbolic links of an archive by their places, so that no entry passes through one. */
import { TarError } from './tar-entry.ts';

/** What all places may take together. 100,000 links in folders of their own are within it. */
const MAX_BYTES = 32 * 2 ** 20;
/** What a name takes besides its characters, of which each takes two bytes at most. */
const NAME_BYTES = 128;

export class TarLinks {
  /** Numbers of folders and links, each by its name in a folder. The root has the number 0. */
  readonly #numbers = new Map<string, number>();
  readonly #links = new Set<number>();
  #bytes = 0;

  /** Throws TarError if there are too many. */
  add(names: readonly string[]): void {
    let at = 0;
    for (const name of names) at = this.#numbers.get(`${at}/${name}`) ?? this.#addName(at, name);
    this.#links.add(at);
  }

  /** How many of the names lead to the first link on the way, or to the link that they name. */
  firstOn(names: readonly string[]): number | undefined {
    let at: number | undefined = 0;
    for (const [nth, name] of names.entries()) {
      at = this.#numbers.get(`${at}/${name}`);
      if (at === undefined) return undefined;
      if (this.#links.has(at)) return nth + 1;
    }
    return undefined;
  }

  #addName(folder: number, name: string): number {
    this.#bytes += NAME_BYTES + 2 * name.length;
    if (this.#bytes > MAX_BYTES) throw new TarError('the archive has too many links');
    const number = this.#numbers.size + 1;
    this.#numbers.set(`${folder}/${name}`, number);
    return number;
  }
}
