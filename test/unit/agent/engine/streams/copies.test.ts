/** Copies into containers, and how a copy's command has ended. */
import { expect, test } from 'vitest';
import { CopyCommand } from '../../../../../agent/engine/streams/copy-command.ts';
import { copyIn } from '../../../../../agent/engine/streams/copy-in.ts';
import { copyOut } from '../../../../../agent/engine/streams/copy-out.ts';
import { baseOf, inWords, outWords } from '../../../../../agent/engine/streams/copy-scripts.ts';
import type { Piece, Target } from '../../../../../agent/engine/streams/target.ts';
import type { TarEntry } from '../../../../../shared/archives/tar-entry.ts';
import { TarReader } from '../../../../../shared/archives/tar-reader.ts';
import { endOfTar, headerOf, paddingOf } from '../../../../../shared/archives/tar-writer.ts';
import { outputOf, target } from '../../../../support/fixtures/targets.ts';

/** A command that ends once its input has, and what was done with it. */
function command(code = 0, pieces: Piece[] = []) {
  const over = Promise.withResolvers<void>();
  const taken: Uint8Array[] = [];
  const done: string[] = [];
  const one = target({
    output: outputOf(pieces, over.promise),
    write: async (bytes) => void taken.push(bytes),
    end: () => {
      done.push('end');
      over.resolve();
    },
    exitCode: async () => code,
    destroy: () => done.push('destroy'),
  });
  return { target: one, taken, done };
}
async function drain({ output }: Target): Promise<string> {
  let text = '';
  for await (const { bytes } of output) text += Buffer.from(bytes);
  return text;
}
const err = (text: string): Piece => ({ bytes: Buffer.from(text), source: 2 });

test.each([
  [0, 'whatever', undefined],
  [126, '', 'the image has no shell'],
  [127, '', 'the image has no shell'],
  [1, 'tar: x: file changed as we read it\ntar: y: socket ignored\n', undefined],
  [2, 'tar: x: file changed as we read it\n', 'tar: x: file changed as we read it'],
  [1, 'tar: x: file changed as we read it\ntar: y: gone\n', 'file changed as we read it tar: y: gone'],
  [1, '\n', 'the copy failed in the container, with exit code 1'],
  [120, ' a\u0007b\r\n', 'a b'],
  [120, 'x'.repeat(900), 'x'.repeat(500)],
])('P265: a copy whose command ends with %s after %j has the outcome %j', async (code, text, problem) => {
  const more = err(text.length > 500 ? 'y' : '');
  const program = command(code, [err(text), more, { bytes: Buffer.from('out'), source: 1 }]).target;
  program.end();
  const copy = new CopyCommand(program);
  let output = '';
  for await (const bytes of copy.output()) output += Buffer.from(bytes);
  expect(output).toBe('out');
  const failure = await copy.assertDone().then(
    () => undefined,
    ({ message }) => message,
  );
  expect(failure).toEqual(problem === undefined ? undefined : expect.stringContaining(problem));
});

const entry = (one: Partial<TarEntry>) =>
  headerOf({ kind: 'file', mode: 0o4755, modified: 5, target: '', size: 0, path: 'd', ...one });

/** The entries that the container gets. */
function entries(taken: Uint8Array[]): string[] {
  const reader = new TarReader();
  const found: string[] = [];
  for (const chunk of taken)
    for (const one of reader.push(chunk))
      if (one instanceof Uint8Array) found.push(`= ${Buffer.from(one)}`);
      else found.push(`${one.path} ${one.kind} ${one.size} ${one.modified} ${one.target}`.trim());
  reader.end();
  return found;
}

test('P266: the container gets an archive of the files with names of the agent, and at its end what completes the copy', async () => {
  for (const [bytes, parts, expected] of [
    [5, ['hel', 'lo'], ['x file 5 9', '= hel', '= lo']],
    [0, [], ['x file 0 9']],
    [
      undefined,
      [
        entry({ kind: 'folder' }),
        entry({ path: 'd/f', size: 5 }),
        'hello',
        paddingOf(5),
        entry({ path: 'd/h', kind: 'hard-link', target: 'd/f' }),
        entry({ path: 'd/l', kind: 'link', target: 'f' }),
        endOfTar(),
      ],
      ['x/ folder 0 5', 'x/f file 5 5', '= hello', 'x/h hard-link 0 5 x/f', 'x/l link 0 5 f'],
    ],
  ] as const) {
    const { target, taken, done } = command();
    let words: string[] = [];
    const copy = await copyIn(
      async (all) => {
        words = all;
        return target;
      },
      { kind: 'files-in', path: '/srv/data', name: 'n', ...(bytes !== undefined && { bytes }) },
      ['-/m'],
      9_999,
    );
    const drained = drain(copy);
    for (const part of parts) await copy.write(Buffer.from(part as string));
    copy.end();
    expect(await drained).toBe('');
    expect([await copy.exitCode(), done]).toEqual([0, ['end']]);
    expect(entries(taken)).toEqual([...expected, 'complete file 0 9']);
    expect(words.slice(3)).toEqual([
      'berth-cp',
      '/srv/data',
      '/srv/',
      'data',
      'n',
      expect.stringMatching(/^\.berth-cp-[0-9a-f]{16}$/),
      '-/m',
    ]);
  }
});

const copyOfFive = (program: Target) =>
  copyIn(async () => program, { kind: 'files-in', path: '/a', name: 'n', bytes: 5 }, [], 0);

test('P266: a copy of too many or too few bytes, or that the container refuses, never completes', async () => {
  for (const [parts, code, problem] of [
    [['too long'], 0, 'more than the 5 bytes'],
    [['shor'], 0, 'ended 1 bytes early'],
    [['hello'], 120, 'no room'],
  ] as const) {
    const { target, taken } = command(code, [err('no room')]);
    const copy = await copyOfFive(target);
    const drained = drain(copy);
    const refused = expect(drained).rejects.toThrow(problem);
    for (const part of parts) await copy.write(Buffer.from(part));
    copy.end();
    await refused;
    const isWhole = Buffer.concat(taken).includes('complete');
    expect(isWhole).toBe(code !== 0);
  }
  // What a command leaves unread when it ends is not awaited, and its refusal counts.
  const { target, done } = command(120, [err('no room')]);
  const copy = await copyOfFive(target);
  const refused = expect(drain(copy)).rejects.toThrow('no room');
  target.end();
  await refused;
  copy.destroy();
  expect(done).toEqual(['end', 'end']);
});

test('P265: the content of one file leaves the container, a folder does not, and its command begins without input', async () => {
  for (const [archive, code, outcome] of [
    [[entry({ size: 5 }), 'hello', paddingOf(5), endOfTar()], 0, 'hello'],
    [[entry({ kind: 'folder' }), endOfTar()], 0, 'is a folder; berth cp copies folders'],
    [[entry({ kind: 'link', target: '/x' }), endOfTar()], 0, 'must begin with'],
    [[entry({ size: 5 }), 'hel'], 120, 'no such file'],
    [[entry({ size: 5 }), 'hel'], 0, 'ends'],
  ] as const) {
    const bytes = Buffer.concat(archive.map((part) => Buffer.from(part as string)));
    const { target, done } = command(code, [{ bytes, source: 1 }, err('no such file')]);
    const copy = await copyOut(async () => target, { kind: 'files-out', path: '/d', form: 'file' }, []);
    expect(done).toEqual(['end']);
    expect(await drain(copy).catch(({ message }) => message)).toContain(outcome);
    expect(await copy.exitCode()).toBe(0);
    copy.destroy();
    expect(done).toEqual(['end', 'destroy']);
  }
});

test.each([
  ['/srv/data', '/srv/', 'data'],
  ['/', '/', ''],
  ['/a/', '/a/', ''],
  ['/a/..', '/a/..', ''],
  ['/a/.', '/a/.', ''],
])('P265: of the path %s a copy goes to %s and takes %j', (path, folder, base) => {
  expect(outWords(path, ['+/m']).slice(3)).toEqual(['berth-cp', folder, base, '+/m']);
  expect(inWords(path, 'n', []).slice(4, 7)).toEqual([path, folder, base]);
  expect(baseOf(path)).toBe(base);
});
