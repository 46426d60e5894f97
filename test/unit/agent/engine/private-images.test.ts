/** Who may use which image, at an engine in memory: by its marks, and by pulls of unknown outcome. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type Docker from 'dockerode';
import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { PrivateImages } from '../../../../agent/engine/pulls/private-images.ts';
import {
  digestOf,
  MAX_MARKS,
  markOf,
  NOBODY,
  outdatedBy,
} from '../../../../agent/engine/pulls/private-marks.ts';
import { errorOf } from '../../../support/engines/docker-rig.ts';
import { ScriptedEngine } from '../../../support/engines/scripted-engine.ts';
import { failure } from '../../../support/fixtures/failures.ts';

const APP = 'reg.example/app:1';
const EVIL = 'evil.example/x:1';
const SETTLED_MS = 600_000;
let engine: ScriptedEngine;
let docker: Docker;
let file: string;
let nowMs: number;
let agent: PrivateImages;
let proofs: number;
const lines: string[] = [];
beforeEach(async () => {
  ({ engine, docker } = await ScriptedEngine.open());
  file = `${engine.folder}/data/private/pulls.json`;
  nowMs = 1e12;
  agent = process();
  proofs = 0;
  lines.length = 0;
});

/** The next process of the agent. */
const process = (deployment = 'blue', engineId = async () => 'E1') => {
  const options = { file, deployment, log: (event: string) => lines.push(event), nowMs: () => nowMs };
  return new PrivateImages(docker, options, engineId);
};
/** The engine has the image, also under this name. */
const arrives = (Id: string, ...names: string[]) => {
  const image = engine.imageOf(Id) ?? { Id, RepoTags: [], RepoDigests: [] };
  if (!engine.images.includes(image)) engine.images.push(image);
  for (const name of names) image[name.includes('@') ? 'RepoDigests' : 'RepoTags']?.push(name);
};
const fails = (kind: 'temporary' | 'permanent') => async () => {
  throw new EngineError(kind, kind);
};
const prove = async () => {
  proofs += 1;
};
const pulled = (image: string, credentials?: string, pull = async () => {}) =>
  agent.whilePulled({ image, credentials, prove }, pull);
/** A pull that brings an image. */
const brings = (Id: string, image: string, credentials?: string) =>
  pulled(image, credentials, async () => {
    if (!engine.imageOf(image)) arrives(Id, image);
    else expect(engine.imageOf(image)?.Id).toBe(Id);
  });
/** A pull whose outcome is unknown. */
const interrupted = (image: string, credentials = '1.1') =>
  errorOf(pulled(image, credentials, fails('temporary')));
/** For whom of: nobody's credentials, Alice's, Bob's. */
const allowed = async (id: string, by = agent) =>
  (await Promise.all([undefined, '1.1', '2.1'].map((one) => by.allows(id, one)))).map(Number).join('');
const marksOf = (id: string) =>
  (engine.imageOf(id)?.RepoTags ?? [])
    .filter((tag) => tag.startsWith('private.'))
    .map((tag) => tag.split(':')[1]);

test('P235: an image is for those whose pull was allowed, in this deployment', async () => {
  await brings('a', APP, '1.1');
  expect(await allowed('a')).toBe('010');
  await brings('a', APP, '2.1');
  expect(await allowed('a')).toBe('011');
  expect(await allowed('a', process())).toBe('011');
  expect(await allowed('a', process('green'))).toBe('000');
  expect(await allowed('gone')).toBe('000');
  await brings('a', APP, '1.2');
  expect(marksOf('a')).toEqual(['2.1', '1.2']);
  // What else comes from there, without credentials, is public.
  arrives('b', 'reg.example/app:2');
  expect(await allowed('b')).toBe('111');
  expect(await allowed('b', process())).toBe('111');
});

test('P237: an image that came without credentials, or was there before, is public, and so is one published later', async () => {
  await brings('a', 'reg.example/public:1');
  arrives('b', APP);
  await brings('b', APP, '1.1');
  await brings('c', 'reg.example/c:1', '1.1');
  await brings('c', 'reg.example/c:1');
  for (const id of ['a', 'b', 'c']) expect([await allowed(id), marksOf(id)]).toEqual(['111', []]);
  await pulled('reg.example/gone:1', '1.1');
  engine.instead = () => ({ status: 500, body: { message: 'trouble' } });
  await expect(agent.allows('a', undefined)).rejects.toThrow('trouble');
});

test('P238: another registry does not show that it has an image by its description alone', async () => {
  await brings('a', APP, '1.1');
  arrives('a', EVIL);
  expect(await errorOf(pulled(EVIL, '2.1'))).toMatchObject(
    failure('permanent', 'verify that evil.example has all of it'),
  );
  expect(engine.imageOf(EVIL)).toBeUndefined();
  expect(await allowed('a')).toBe('010');
  await docker.getImage(APP).remove();
  arrives('a', EVIL);
  await errorOf(pulled(EVIL));
  expect(engine.imageOf(EVIL)?.Id).toBe('a');
  arrives('a', 'hub:1');
  await pulled('hub:1', '2.1');
  expect(await allowed('a')).toBe('011');
  expect(proofs).toBe(0);
});

test('P235: by its digest a private image is requested from its registry, and a public one is not', async () => {
  const digest = 'reg.example/app@sha256:d';
  await brings('a', digest, '1.1');
  expect(proofs).toBe(0);
  await brings('a', digest, '2.1');
  expect(proofs).toBe(1);
  const refused = { image: digest, credentials: '3.1', prove: fails('permanent') };
  await errorOf(agent.whilePulled(refused, async () => {}));
  expect(marksOf('a')).toEqual(['1.1', '2.1']);
});

test('P236: an image that an interrupted pull has brought is in doubt, and belongs to nobody once the engine has ended it', async () => {
  arrives('before', APP);
  arrives('named', 'reg.example/app:7', 'private.berth.invalid/a/b/c:2.1');
  await interrupted(APP);
  arrives('a', 'reg.example/app:2', 'other.example/a:1');
  arrives('b', 'reg.example/other:1');
  const marked = 'private.berth.invalid/d/e/f:2.1';
  arrives('m', 'reg.example/app:8', marked);
  for (const by of [agent, process()])
    expect((await Promise.all(['before', 'a', 'b'].map((id) => allowed(id, by)))).join()).toBe('111,000,111');
  // Another registry has the image, too.
  arrives('a', EVIL);
  expect(await errorOf(pulled(EVIL))).toMatchObject(failure('permanent'));
  nowMs += SETTLED_MS - 1;
  await pulled('reg.example/x:1');
  expect(marksOf('a')).toEqual([]);
  nowMs += 1;
  await pulled('reg.example/x:1');
  expect(['before', 'a', 'b', 'm'].map(marksOf)).toEqual([[], [NOBODY], [], ['2.1']]);
  arrives('c', 'reg.example/app:3');
  expect(await allowed('c')).toBe('111');
  engine.requests.length = 0;
  await pulled('reg.example/x:1');
  expect(engine.count(/^GET .images.json/)).toBe(0);
  // A refused pull has brought nothing.
  await errorOf(pulled('reg.example/refused:1', '1.1', fails('permanent')));
  arrives('r', 'reg.example/refused:1');
  expect(await allowed('r')).toBe('111');
});

test('P236: the next attempt at an image settles what the interrupted one has brought', async () => {
  arrives('before', 'reg.example/app:0');
  await interrupted('reg.example/other:1');
  await interrupted(APP);
  await interrupted('reg.example/app:0');
  arrives('a', APP);
  await brings('a', APP, '1.1');
  expect(await allowed('a')).toBe('010');
  await brings('before', 'reg.example/app:0', '1.1');
  expect(await allowed('before')).toBe('111');
  arrives('b', 'reg.example/other:1');
  expect(await allowed('b')).toBe('000');
  await interrupted('reg.example/later:1');
  await brings('b', 'reg.example/other:1');
  expect(await allowed('b')).toBe('111');
  expect(await allowed('b', process())).toBe('111');
});

test('P236: an agent that is killed during a pull has recorded it before', async () => {
  let killed: string | undefined;
  await pulled(APP, '1.1', async () => {
    arrives('a', APP);
    killed = await allowed('a', process());
  });
  expect(killed).toBe('000');
  expect(await allowed('a')).toBe('010');
});

test('P236: a pull that cannot be recorded does not begin, and leaves no doubt', async () => {
  await agent.allows('any', undefined);
  mkdirSync(`${file}.new`, { recursive: true });
  const error = await errorOf(pulled(APP, '1.1', async () => expect.unreachable()));
  expect(error).toMatchObject(failure('temporary', "can't be recorded in"));
  arrives('a', APP);
  expect(await allowed('a')).toBe('111');
});

test('P236: more than a hundred interrupted pulls are looked at sooner, the oldest first', async () => {
  const pulls = Array.from({ length: 101 }, (_, at) => {
    return { image: `reg.example/a${at}:1`, registry: 'r', before: [] };
  });
  mkdirSync(file.replace('/pulls.json', ''), { recursive: true });
  writeFileSync(file, JSON.stringify({ engine: 'E1', pulls, suspects: [] }));
  for (const at of [0, 1, 100]) arrives(`i${at}`, `reg.example/a${at}:1`);
  await pulled('reg.example/x:1');
  expect([marksOf('i0'), marksOf('i1'), marksOf('i100')]).toEqual([[NOBODY], [], []]);
});

test('P236: after the file was lost, images from registries are in doubt until they are pulled again', async () => {
  await brings('a', APP, '1.1');
  const other = markOf({ imageId: 'a', deployment: 'green', registry: 'reg.example', credentials: '2.1' });
  arrives('a', other.name);
  arrives('p', 'reg.example/public:1', 'reg.example/public@sha256:p');
  arrives('two', 'two.example/t:1', 'reg.example/t@sha256:t');
  arrives('nameless', '<none>:<none>');
  arrives('built', 'mine:1');
  const all = async (by: PrivateImages) =>
    (await Promise.all(['a', 'p', 'two', 'nameless', 'built'].map((id) => allowed(id, by)))).join(' ');
  expect(await all(process())).toBe('010 111 111 111 111');
  // A file of another engine is none.
  expect(await all(process('green', async () => 'E2'))).toBe('001 000 000 000 111');
  expect(lines).toEqual(['pull-intents.lost']);
  expect(await all(process('red', async () => 'E3'))).toBe('000 111 111 111 111');
  for (const damage of ['', '{"engine":"E1"}']) {
    writeFileSync(file, damage);
    expect(await all(process())).toBe('010 000 000 000 111');
  }
  agent = process();
  expect(await all(agent)).toBe('010 000 000 000 111');
  expect(lines).toHaveLength(3);
  await errorOf(pulled('two.example/t:1'));
  await pulled('reg.example/public:1');
  expect(await all(agent)).toBe('010 111 000 000 111');
  expect(await all(process())).toBe('010 111 000 000 111');
  expect(readFileSync(file, 'utf8')).not.toContain('"p"');
  rmSync(file);
  mkdirSync(file);
  expect(await all(process())).toBe('010 000 000 000 111');
});

test('P236: an engine that did not answer is asked again', async () => {
  engine.instead = () => ({ status: 500, body: { message: 'trouble' } });
  await expect(agent.allows('a', undefined)).rejects.toThrow('trouble');
  engine.instead = () => undefined;
  arrives('a', APP);
  expect(await allowed('a')).toBe('111');
});

test('P184: an image that has only marks goes, unless a container has it', async () => {
  const mark = (Id: string) => arrives(Id, `private.berth.invalid/${Id}/b/c:1.1`);
  for (const id of ['named', 'used', 'left']) mark(id);
  arrives('named', APP);
  arrives('nameless', '<none>:<none>');
  await agent.removeNameless(engine.images as never, new Set(['used']));
  expect(engine.images.map(({ Id }) => Id)).toEqual(['named', 'used', 'nameless']);
  expect(marksOf('named')).toEqual(['1.1']);
});

test('P235: a new mark replaces earlier ones of the same credentials, those of nobody, and the oldest beyond 64', () => {
  const mark = (credentials: string, deployment = 'blue') =>
    markOf({ imageId: 'a', deployment, registry: 'reg.example', credentials });
  const outdated = (...marks: ReturnType<typeof mark>[]) =>
    outdatedBy(mark('7.2'), marks).map(({ credentials }) => credentials);
  const marks = [mark('7.1'), mark('7.2'), mark('8.1'), mark(NOBODY), mark('7.1', 'green')];
  expect(outdated(...marks)).toEqual(['7.1', NOBODY]);
  const many = Array.from({ length: MAX_MARKS - 1 }, (_, at) => mark(`${200 - at}.1`));
  expect(outdated(...many)).toEqual([]);
  expect(outdated(...many, mark('150.3', 'green'), mark(NOBODY, 'green'))).toEqual([NOBODY, '138.1']);
  expect(digestOf('x')).toMatch(/^2d711642b726b04401627ca9fbac32f5c8530fb1$/);
});
