/** Archives that come out of a container whose own program chose every byte of them. */
import { expect, test } from 'vitest';
import { copyOut } from '../../../../../agent/engine/streams/copy-out.ts';
import type { TarEntry } from '../../../../../shared/archives/tar-entry.ts';
import { TarReader } from '../../../../../shared/archives/tar-reader.ts';
import { endOfTar, headerOf, paddingOf } from '../../../../../shared/archives/tar-writer.ts';
import { outputOf, target } from '../../../../support/fixtures/targets.ts';

type Part = Pick<TarEntry, 'path' | 'kind'> & { target?: string; content?: string };

const archive = (...parts: Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ content = '', ...part }) => [
      headerOf({ mode: 0o644, modified: 1_000, target: '', size: content.length, ...part }),
      Buffer.from(content),
      paddingOf(content.length),
    ]),
    endOfTar(),
  ]);

/** The entries of what a reader gets of the container's archive. */
async function received(bytes: Uint8Array, links?: 'all'): Promise<string[]> {
  const program = target({ output: outputOf([{ bytes, source: 1 }]) });
  const asked = { kind: 'files-out', path: '/srv/data', form: 'tar', ...(links && { links }) } as const;
  const copy = await copyOut(async () => program, asked, []);
  const reader = new TarReader();
  const found: string[] = [];
  for await (const piece of copy.output)
    for (const one of reader.push(piece.bytes))
      if (one instanceof Uint8Array) found.push(`= ${Buffer.from(one)}`);
      else found.push(one.target === '' ? one.path : `${one.path} -> ${one.target}`);
  reader.end();
  return found;
}

const folder = (path: string): Part => ({ path, kind: 'folder' });
const file = (path: string, content = ''): Part => ({ path, kind: 'file', content });
const link = (path: string, target: string): Part => ({ path, kind: 'link', target });
const hardLink = (path: string, target: string): Part => ({ path, kind: 'hard-link', target });

test('P267: an archive that leads out of its root never leaves the agent', async () => {
  const hostile: [Part[], string][] = [
    [[folder('data'), file('data/../../up')], 'leads out'],
    [[folder('data'), file('../up')], 'leads out'],
    [[folder('data'), file('/etc/cron.d/x')], 'leads out'],
    [[folder('data'), file('other/x')], 'more than one'],
    [[folder('data'), file('dat')], 'more than one'],
    [[folder('./a'), file('./b/../../up')], 'leads out'],
    [[folder('data'), link('data/l', '/etc'), file('data/l/passwd')], 'within a link'],
    [[folder('data'), link('data/l', '..'), link('data/l/m', 'x')], 'within a link'],
    [[folder('data'), folder('data')], 'more than one'],
    [[link('data', '/etc')], 'must begin with'],
    [[link('data', '/etc'), file('data/passwd')], 'must begin with'],
    [[folder('a/b'), file('a/b/c')], 'must begin with'],
    [[], 'empty'],
  ];
  for (const [parts, reason] of hostile)
    for (const links of ['all', undefined] as const)
      await expect(received(archive(...parts), links), JSON.stringify(parts)).rejects.toThrow(reason);
});

test('P267: links that lead out are left out, unless the reader judges links itself', async () => {
  const inside = ['data/', 'data/f', '= one', 'data/in -> f', 'data/h -> data/f', 'data/last', '= two'];
  const safe = archive(
    folder('./data'),
    file('./data/f', 'one'),
    link('./data/abs', '/etc/passwd'),
    link('./data/up', '../..'),
    link('./data/in', 'f'),
    hardLink('./data/h', './data/f'),
    hardLink('./data/none', './elsewhere'),
    { path: './data/pipe', kind: 'other' },
    file('./data/last', 'two'),
  );
  expect(await received(safe)).toEqual(inside);
  expect(await received(safe, 'all')).toEqual([
    ...inside.slice(0, 3),
    'data/abs -> /etc/passwd',
    'data/up -> ../..',
    ...inside.slice(3, 5),
    'data/none -> ./elsewhere',
    ...inside.slice(5),
  ]);
});
