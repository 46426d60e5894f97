/** Tar archives of unknown origin: what is read, what is refused, and how much memory that takes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { staysInside, type TarEntry } from '../../../../shared/archives/tar-entry.ts';
import { TarReader } from '../../../../shared/archives/tar-reader.ts';
import { refuseEntry, TreeReader } from '../../../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../../../shared/archives/tar-writer.ts';

type Part = Partial<TarEntry> & { path: string; content?: string };

const entry = ({ content = '', ...part }: Part): Uint8Array[] => {
  const bytes = Buffer.from(content);
  const whole: TarEntry = {
    ...{ kind: 'file', mode: 0o644, modified: 1_000, size: bytes.length, target: '' },
    ...part,
  };
  return [headerOf(whole), bytes, paddingOf(bytes.length)];
};
const tar = (...parts: Part[]): Buffer => Buffer.concat([...parts.flatMap(entry), endOfTar()]);

/** What a reader makes of the archive, cut into chunks. */
function* itemsOf<T>(
  reader: { push(chunk: Uint8Array): Iterable<T>; end(): void },
  bytes: Uint8Array,
  length = 700,
) {
  for (let at = 0; at < bytes.length; at += length) yield* reader.push(bytes.subarray(at, at + length));
  reader.end();
}

function read(bytes: Uint8Array, pieceBytes?: number): Record<string, string> {
  const found: Record<string, string> = {};
  let last = '';
  for (const one of itemsOf(new TarReader(), bytes, pieceBytes))
    if (one instanceof Uint8Array) found[last] += Buffer.from(one).toString();
    else {
      last = `${one.kind} ${one.path}${one.target && ` -> ${one.target}`}`;
      found[last] = '';
    }
  return found;
}

/** Names of the entries, and of those that were left out with the reason. */
function tree(...parts: Part[]): { taken: string[]; left: string[] } {
  const result = { taken: [] as string[], left: [] as string[] };
  const leaveOut = ({ path }: TarEntry, reason: string) => void result.left.push(`${path} ${reason}`);
  for (const one of itemsOf(new TreeReader(leaveOut), tar(...parts)))
    if (!(one instanceof Uint8Array)) result.taken.push(one.names.join('/'));
  return result;
}

const folder = (path: string): Part => ({ path, kind: 'folder' });
const link = (path: string, target: string): Part => ({ path, kind: 'link', target });
const hardLink = (path: string, target: string): Part => ({ path, kind: 'hard-link', target });
/** A header of which one field is replaced, with a checksum that is right. */
const withField = (part: Part, at: number, text: string): Buffer => {
  const [header = new Uint8Array(512)] = entry(part);
  header.set(Buffer.from(text, 'latin1'), at);
  header.set(Buffer.from(' '.repeat(8)), 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.set(Buffer.from(`${sum.toString(8).padStart(6, '0')}\0 `), 148);
  return Buffer.concat([header, endOfTar()]);
};
const record = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  return `${String(rest.length + 2).length + rest.length}${rest}`;
};

test('P268: an archive is read as it was written, however it is cut, with long and foreign names', () => {
  const long = `data/${'ä'.repeat(120)}/${'b'.repeat(200)}`;
  const far = link('data/l', `../${'c'.repeat(150)}`);
  const bytes = tar(folder('data'), { path: long, content: 'long' }, far, { path: 'data/empty' });
  for (const cut of [1, 511, 512, 700, 100_000])
    expect(read(bytes, cut)).toEqual({
      'folder data/': '',
      [`file ${long}`]: 'long',
      [`link data/l -> ../${'c'.repeat(150)}`]: '',
      'file data/empty': '',
    });
});

test('P268: archives of GNU tar are read in each of its formats, and it reads those that are written here', () => {
  const dir = mkdtempSync(join(tmpdir(), 'berth-tar-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const name = 'n'.repeat(180);
  mkdirSync(join(dir, 'in'));
  writeFileSync(join(dir, 'in', name), 'content');
  symlinkSync(name, join(dir, 'in', 'l'));
  const all = { 'folder in/': '', [`file in/${name}`]: 'content', [`link in/l -> ${name}`]: '' };
  for (const format of ['gnu', 'posix', 'oldgnu'])
    expect(read(spawnSync('tar', ['-c', `--format=${format}`, '-C', dir, 'in']).stdout)).toEqual(all);
  const own = tar(folder('x'), { path: `x/${'ü'.repeat(90)}`, content: 'own' });
  const { stdout, stderr } = spawnSync('tar', ['-x', '-O'], { input: own });
  expect([stdout.toString(), stderr.toString()]).toEqual(['own', '']);
});

test('P268: damaged, cut and hostile archives are refused, without memory for what they promise', () => {
  const whole = tar({ path: 'a', content: 'content' });
  const cases: [Uint8Array, string][] = [
    [Buffer.alloc(0), 'ends early'],
    [whole.subarray(0, 700), 'ends early'],
    [whole.subarray(0, 1024), 'ends early'],
    [Buffer.from('x'.repeat(2_000)), 'damaged'],
    [Buffer.concat([whole, Buffer.from('more')]), 'after its end'],
    [Buffer.concat([whole, Buffer.alloc(2 ** 21)]), 'after its end'],
    [withField({ path: 'a' }, 124, '99999999999'), 'damaged'],
    [withField({ path: 'a' }, 124, '\xff'.repeat(12)), 'size'],
    [withField({ path: 'a' }, 124, `\x80${'\xff'.repeat(11)}`), 'size'],
    [withField({ path: 'a' }, 0, '\xc3\x28'), 'UTF-8'],
    // 8 GiB of extended header, of a long name, and an endless row of small ones.
    [withField({ path: 'a' }, 124, '77777777777\x00'.padEnd(32, '0').slice(0, 12)), 'ends early'],
    [withField({ path: 'a', size: 2 ** 30 }, 156, 'x'), 'too long'],
    [withField({ path: 'a', size: 2 ** 30 }, 156, 'L'), 'too long'],
    [Buffer.concat(Array(9).fill(withField({ path: 'a', size: 0 }, 156, 'x').subarray(0, 512))), 'too long'],
    // Sparse files of GNU tar, old and new.
    [withField({ path: 'a', size: 512 }, 156, 'S'), 'sparse'],
    [extended('x', record('GNU.sparse.map', '0,1')), 'sparse'],
    [extended('x', record('size', '-5')), 'size'],
    [extended('g', record('path', '/etc/passwd')), 'all its entries'],
    [extended('x', '999 path=a\n'), 'damaged extended'],
    [extended('x', record('path', 'p'.repeat(5_000))), 'too long'],
    [withField({ path: 'a', kind: 'folder', size: 512 }, 0, 'a'), 'none belongs'],
  ];
  for (const [bytes, reason] of cases) expect(() => read(bytes), reason).toThrow(reason);
});

function extended(flag: string, text: string): Buffer {
  const header = withField({ path: 'p', size: text.length }, 156, flag).subarray(0, 512);
  return Buffer.concat([header, Buffer.from(text), paddingOf(text.length), tar({ path: 'a' })]);
}

test('P267: entries lie beneath the one root, and lead nowhere else', () => {
  const inside = [folder('./d'), { path: './d/./f', content: '1' }, { path: 'd//g' }];
  expect(tree(...inside)).toEqual({ taken: ['', 'f', 'g'], left: [] });
  const outside: [Part[], string][] = [
    [[folder('d'), { path: 'e' }], 'more than one'],
    [[folder('d'), { path: 'd/../../etc/passwd' }], 'leads out'],
    [[folder('d'), { path: '/etc/passwd' }], 'leads out'],
    [[folder('d'), { path: 'd/a\\..\\..\\f' }], 'leads out'],
    [[{ path: 'f' }, { path: 'f/g' }], 'more than one'],
    [[folder('d'), folder('d')], 'more than one'],
    [[link('d', 'e')], 'must begin'],
    [[{ path: 'd/f' }], 'must begin'],
    [[folder('d'), { path: `d/${'n'.repeat(256)}` }], 'no usable name'],
    [[folder('d'), { path: 'x/'.repeat(600) }], 'no usable name'],
    [[], 'empty'],
  ];
  for (const [parts, reason] of outside) expect(() => tree(...parts), reason).toThrow(reason);
});

test('P267: links that could lead out are left out, by whatever links are on the way', () => {
  const { taken, left } = tree(
    folder('d'),
    folder('d/a'),
    link('d/a/up', '../f'),
    link('d/loop', 'loop'),
    link('d/absolute', '/etc/passwd'),
    link('d/above', '..'),
    link('d/a/above', '../../x'),
    // Inside by its words, but not if a is a link to a shallower folder.
    link('d/a/after', 'b/../../x'),
    { path: 'd/f' },
    hardLink('d/a/same', 'd/f'),
    hardLink('d/a/of-link', 'd/a/up'),
    hardLink('d/a/out', 'e'),
    hardLink('d/a/through', 'd/loop/f'),
    { path: 'd/device', kind: 'other' },
  );
  expect(taken).toEqual(['', 'a', 'a/up', 'loop', 'f', 'a/same']);
  const names = ['absolute', 'above', 'a/above', 'a/after', 'a/of-link', 'a/out', 'a/through', 'device'];
  expect(left.map((text) => text.split(' ')[0])).toEqual(names.map((name) => `d/${name}`));
  const through = () => tree(folder('d'), link('d/l', '.'), link('d/l/m', '../x'));
  expect(through).toThrow('within a link');
  const strict = () => [...itemsOf(new TreeReader(refuseEntry), tar(folder('d'), link('d/x', '/')))];
  expect(strict).toThrow('"d/x" is a link that leads out');
});

test('P301: links with long paths are refused before they fill the memory, and many ordinary ones are not', () => {
  const read = (links: number, pathOf: (nth: number) => string) => {
    const reader = new TreeReader(refuseEntry);
    for (const part of entry(folder('d'))) for (const _ of reader.push(part));
    for (let nth = 0; nth < links; nth += 1)
      for (const part of entry(link(pathOf(nth), 'x'))) for (const _ of reader.push(part));
  };
  const deep = (nth: number) => `d/${nth}/${'name/'.repeat(500)}link`;
  expect(() => read(1_000, deep)).toThrow('the archive has too many links');
  expect(() => read(5_000, (nth) => `d/package-${nth}/.bin/some-command`)).not.toThrow();
});

test('P267: what a link names is judged without the file system', () => {
  const inside = { a: 0, '../a': 1, './../a/b': 1, '..': 1, 'a/./b': 0, 'a\\x2db': 0 };
  const outside = { '': 0, '/': 5, '..': 0, '../..': 1, 'a/..': 1, './../a/..': 3, '..\\a': 1 };
  for (const [target, depth] of Object.entries(inside)) expect(staysInside(target, depth), target).toBe(true);
  for (const [target, depth] of Object.entries(outside))
    expect(staysInside(target, depth), target).toBe(false);
});
