import { lstatSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CopyReport } from '../../../cli/streams/report.ts';
import { unpack } from '../../../cli/streams/unpack.ts';
import { terminalOf } from '../../../cli/terminal/terminal.ts';
import type { TarEntry } from '../../../shared/archives/tar-entry.ts';
import { endOfTar, headerOf } from '../../../shared/archives/tar-writer.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-unpack-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Unpacks entries below the root. Resolves to the error, and to how many entries were taken. */
async function unpacked(count: number, entry: (n: number) => Partial<TarEntry> & { path: string }) {
  let taken = 0;
  const archive = async function* () {
    const common = { mode: 0o755, modified: 0, size: 0, target: '' };
    yield headerOf({ ...common, kind: 'folder', path: 'x' });
    for (; taken < count; taken++) {
      const one = entry(taken);
      yield headerOf({ ...common, kind: 'link', ...one, path: `x/${one.path}` });
    }
    yield endOfTar();
  };
  const target = join(folder, 'x');
  const report = new CopyReport(terminalOf(process), true);
  const error = await unpack(archive(), target, report).catch(({ message }: Error) => message);
  return { error, taken, target };
}

const LOCKED = { kind: 'folder', mode: 0o500 } as const;
const FAR = `${'語'.repeat(200)}/`.repeat(6);
const DEEP = `${'d'.repeat(90)}/`.repeat(40);

test.each([
  ['links that lead far', (n: number) => ({ path: `l${n}`, target: `${'a/'.repeat(2_000)}b` })],
  ['links in deep folders', (n: number) => ({ path: `${'d/'.repeat(400)}${n}`, target: 'b' })],
  ['names of other scripts', (n: number) => ({ path: `${n}${'語'.repeat(80)}`, target: FAR })],
  ['folders that are not to be written to', (n: number) => ({ ...LOCKED, path: `${DEEP}${n % 2}` })],
])('L224: %s are refused before they take much memory', async (_, entry) => {
  const { error, taken } = await unpacked(80_000, entry);
  expect(error).toMatch(/the archive has too many links/);
  expect(taken).toBeLessThan(25_000);
});

test('L224: many ordinary links and locked folders are made', async () => {
  const { error, target } = await unpacked(2_000, (n) =>
    n % 2 === 0 ? { ...LOCKED, path: `d${n}` } : { path: `links/link-${n}`, target: `../data/file-${n}` },
  );
  expect(error).toBeUndefined();
  expect(readlinkSync(join(target, 'links/link-1999'))).toBe('../data/file-1999');
  expect(lstatSync(join(target, 'd0')).mode & 0o777).toBe(0o500);
});
