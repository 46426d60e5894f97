/** Links of the documents in the package: what the package lacks is named there without a link. */
import { join, normalize } from 'node:path/posix';

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g;

/**
 * The text of the document at `path`, whose links lead only to what `has` confirms, to other hosts and within
 * the document itself. Other links are replaced by their words.
 */
export const withLinksWithin = (text: string, path: string, has: (path: string) => boolean): string =>
  text.replace(LINK, (link: string, _: string, words: string, target: string) => {
    const file = fileOf(path, target);
    return file === undefined || has(file) ? link : words;
  });

/** The files of the package that the document at `path` links to. */
export const linkedFiles = (text: string, path: string): string[] =>
  [...text.matchAll(LINK)].flatMap(([, , , target = '']) => fileOf(path, target) ?? []);

/** Undefined for a link to another host, or within the document. */
function fileOf(path: string, target: string): string | undefined {
  const [file = ''] = target.split('#');
  if (file === '' || /^[a-z]+:/.test(file)) return undefined;
  return normalize(join(path, '..', file)).replace(/\/$/, '');
}
