/** Pulls at an engine in memory: who shares one, what ends it, and what users read of a refused one. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type Docker from 'dockerode';
import { beforeEach, describe, expect, test } from 'vitest';
import { OwnImages } from '../../../../agent/engine/pulls/own-images.ts';
import { PrivateImages } from '../../../../agent/engine/pulls/private-images.ts';
import { digestOf } from '../../../../agent/engine/pulls/private-marks.ts';
import { pullCredentials } from '../../../../agent/engine/pulls/pull-credentials.ts';
import { type PullOptions, Pulls } from '../../../../agent/engine/pulls/pulls.ts';
import { errorOf } from '../../../support/engines/docker-rig.ts';
import { type Answer, ScriptedEngine } from '../../../support/engines/scripted-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { failure } from '../../../support/fixtures/failures.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { serving } from '../../../support/tools/serving.ts';

const APP = 'reg.example/app:1';
const DAY_MS = 86_400_000;
const ALICE = { id: '1.1', registry: 'reg.example', username: 'alice', password: 'secret', ofAll: false };
let engine: ScriptedEngine;
let docker: Docker;
let own: OwnImages;
let nowMs: number;
let pulls: Pulls;
/** The logins of the pulls that the engine was requested to make. */
let logins: object[];
beforeEach(async () => {
  ({ engine, docker } = await ScriptedEngine.open());
  nowMs = 1e12;
  logins = [];
  pulls = agent();
});

function agent(changes: Partial<PullOptions> = {}): Pulls {
  const options = { log: () => {}, nowMs: () => nowMs };
  const folder = engine.folder;
  const engineId = async () => 'E1';
  const marks = { ...options, file: `${folder}/pulls.json`, deployment: 'blue' };
  const privateImages = new PrivateImages(docker, marks, engineId);
  own = new OwnImages(docker, { ...options, file: `${folder}/images.json` }, engineId, privateImages);
  const registries = ['reg.example', 'docker.io', 'localhost:1'];
  const times = { stallMs: 60_000, progressEveryMs: 1, retryMs: 1 };
  const env = { DOCKER_CONFIG: '/nowhere' };
  return new Pulls(docker, own, privateImages, { env, registries, ...times, ...changes });
}
/** The engine answers pulls one after the other with these events, and the last one again. */
function answers(...all: (readonly object[] | Answer | Promise<void>)[]): void {
  engine.instead = async (request, _, headers) => {
    if (!request.startsWith('POST /images/create')) return undefined;
    const login = String(headers['x-registry-auth'] ?? '');
    logins.push(login === '' ? {} : JSON.parse(Buffer.from(login, 'base64').toString()));
    const answer = await (all.length > 1 ? all.shift() : all[0]);
    if (answer !== undefined && !Array.isArray(answer)) return answer as Answer;
    const [, from = '', tag] = /fromImage=([^&]+)(?:&tag=(.+))?/.exec(request) ?? [];
    const events = (answer as object[] | undefined) ?? [];
    if (!events.some((one) => 'error' in one || 'errorDetail' in one)) arrives(tag ? `${from}:${tag}` : from);
    return { status: 200, body: events.map((one) => `${JSON.stringify(one)}\n`).join('') };
  };
}
const arrives = (name: string, Id = `sha256:${name}`, rest: object = {}) => {
  if (!engine.imageOf(name))
    engine.images.push({ Id, RepoTags: [name], Size: 10, SharedSize: 3, ParentId: '', ...rest });
};
const created = () =>
  engine.requests.filter((one) => one.startsWith('POST /images/create')).map((one) => one.slice(20));
interface By {
  by?: typeof ALICE;
  signal?: AbortSignal;
  on?: Pulls;
  progress?: (detail: string) => void;
}
const { signal: never } = new AbortController();
const pull = (image = APP, { by, signal = never, on = pulls, progress = () => {} }: By = {}) =>
  on.pull(image, progress, signal, by);
const refused = async (message: string, image = APP, by?: typeof ALICE) => {
  answers([{ errorDetail: { message }, error: 'short' }]);
  return errorOf(pull(image, { ...(by && { by }), on: agent() }));
};

test('P44: a name without a tag means latest, also behind a port', async () => {
  answers([]);
  for (const image of ['web', 'web:2', 'localhost:1/web', 'web@sha256:d', 'web:2@sha256:d'])
    await pull(image);
  expect(created()).toEqual([
    ...['fromImage=web&tag=latest', 'fromImage=web:2', 'fromImage=localhost:1/web&tag=latest'],
    ...['fromImage=web@sha256:d', 'fromImage=web:2@sha256:d'],
  ]);
});

test('P44: all who want an image share its pull, which ends when none waits any longer', async () => {
  const answer = Promise.withResolvers<void>();
  answers(answer.promise, []);
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [pull(APP, { signal: first.signal }), pull(APP, { signal: second.signal }), pull(APP)];
  await eventually(async () => created().length === 1);
  first.abort();
  const cancelled = failure('temporary', 'no service waits for the image');
  expect(await errorOf(waiting[0] ?? answer.promise)).toMatchObject(cancelled);
  answer.resolve();
  await Promise.all(waiting.slice(1));
  await pull(APP, { by: ALICE });
  await pull();
  expect(created()).toHaveLength(3);
  expect(logins).toEqual([{}, { username: 'alice', password: 'secret', serveraddress: 'reg.example' }, {}]);
  expect(await errorOf(pull(APP, { signal: AbortSignal.abort() }))).toMatchObject(cancelled);
});

test.each<[string, Parameters<typeof answers>[0]]>([
  ['at the engine', 'silence'],
  ['while it waits for a second attempt', [{ error: 'dial tcp: no such host' }]],
])('P44: a pull that nobody waits for is ended %s, and the next one begins anew', async (_, answer) => {
  answers(answer, []);
  const on = agent({ retryMs: 3_600_000 });
  const abort = new AbortController();
  const waiting = errorOf(pull(APP, { signal: abort.signal, on }));
  await eventually(async () => created().length === 1);
  abort.abort();
  expect(await waiting).toMatchObject(failure('temporary'));
  await pull(APP, { on });
  expect(created()).toHaveLength(2);
});

test('P44: a pull without progress is ended, however it began', async () => {
  const on = agent({ stallMs: 50 });
  answers('silence');
  const stalled = { kind: 'temporary', message: `pulling ${APP}: no progress for 0 s` };
  expect(await errorOf(pull(APP, { on }))).toMatchObject(stalled);
  engine.instead = (request) => (request.startsWith('POST /images/create') ? 'stream' : undefined);
  expect(await errorOf(pull(APP, { on }))).toMatchObject(stalled);
});

test('P43: progress is reported at once, then once for each period, and at the end', async () => {
  const layer = (current: number) => {
    return { id: 'a', status: 'Downloading', progressDetail: { current, total: 100e6 } };
  };
  const details = async (progressEveryMs: number, ...layers: object[]) => {
    const seen: string[] = [];
    answers(layers);
    await pull(APP, { on: agent({ progressEveryMs }), progress: (detail) => seen.push(detail.slice(26)) });
    return seen;
  };
  const seldom = await details(60_000, layer(10e6), layer(20e6), layer(30e6));
  expect(seldom).toEqual(['10% of 100 MB', '30% of 100 MB']);
  expect(await details(1, layer(10e6))).toEqual(['10% of 100 MB']);
});

test('P305: a registry that cannot be reached is tried a second time, and any other refusal is final', async () => {
  const unreachable = [{ error: 'dial tcp: no such host' }];
  answers(unreachable, []);
  await pull();
  expect(created()).toHaveLength(2);
  expect(await refused('dial tcp 1.2.3.4: no such host')).toMatchObject(
    failure('temporary', `registry reg.example can't be reached`),
  );
  expect(created()).toHaveLength(4);
  expect(await refused('received unexpected HTTP status: 503')).toMatchObject(failure('temporary'));
  expect(await refused('manifest unknown')).toMatchObject({
    kind: 'permanent',
    message: `pulling ${APP}: manifest unknown`,
  });
  expect(created()).toHaveLength(6);
  answers('loss');
  expect(await errorOf(pull())).toMatchObject(failure('unreachable'));
  answers({ status: 404, body: { message: 'pull access denied' } });
  expect(await errorOf(pull())).toMatchObject(failure('permanent'));
});

test('P45, P234: what users read of a refusal has the remedy, and not their password', async () => {
  const words = async (by?: typeof ALICE) => (await refused('denied: no secret here', APP, by)).message;
  expect(await words()).toBe(
    `pulling ${APP}: denied: no secret here (credentials for it are set with \`berth registry set reg.example\`)`,
  );
  expect(await words(ALICE)).toContain('denied: no *** here (your credentials for reg.example were refused');
  expect(await words({ ...ALICE, ofAll: true })).toContain('--all');
  expect((await refused('manifest unknown')).message).not.toContain('(');
  const on = agent({ env: { DOCKER_CONFIG: engine.folder } });
  writeFileSync(`${engine.folder}/config.json`, 'no JSON');
  answers([{ error: 'denied' }]);
  expect((await errorOf(pull(APP, { on }))).message).toContain('config.json is not JSON');
});

test('P232, P233: credentials for another registry are not used, nor is a registry that the settings forbid', async () => {
  answers([]);
  expect(await errorOf(pull('web', { by: ALICE }))).toMatchObject(failure('permanent', 'another registry'));
  expect(await errorOf(pull('other.example/x:1'))).toMatchObject(failure('permanent', 'pulls only from'));
  expect(created()).toEqual([]);
});

test('P235: by its digest a private image is requested with the same login, and a refusal is one of the pull', async () => {
  const image = 'reg.example/app@sha256:d';
  arrives(image, 'i', { RepoTags: ['private.berth.invalid/a/b/c:9.1'], RepoDigests: [image] });
  answers([]);
  const usual = engine.instead;
  const asked: unknown[] = [];
  let answer: Answer = { status: 401, body: { message: 'unauthorized: authentication required' } };
  engine.instead = (request, body, headers) => {
    if (!request.startsWith('GET /distribution')) return usual(request, body, headers);
    asked.push(JSON.parse(Buffer.from(String(headers['x-registry-auth']), 'base64').toString()).username);
    return answer;
  };
  engine.images[0]?.RepoTags?.push(`private.berth.invalid/a/b/${digestOf('reg.example')}:8.1`);
  expect(await errorOf(pull(image, { by: ALICE }))).toMatchObject(failure('permanent', 'were refused'));
  answer = { status: 200, body: {} };
  await pull(image, { by: ALICE });
  expect(asked).toEqual(['alice', 'alice']);
});

describe('P304: a pull rate limit', () => {
  test('is asked for its end at the registry, and no image of the registry is pulled before', async () => {
    const asked: string[] = [];
    const registry = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(429, { 'retry-after': '300' }).end();
    });
    const host = `127.0.0.1:${await serving(registry)}`;
    const on = agent({ registries: [host, 'reg.example'] });
    answers([{ error: 'toomanyrequests: too many requests' }]);
    expect((await errorOf(pull(`${host}/a/b:1`, { on }))).message).toMatch(/again in (300|299) s/);
    expect(asked).toEqual(['HEAD /v2/a/b/manifests/1']);
    expect((await errorOf(pull(`${host}/other:1`, { on }))).message).toContain('again in');
    expect(created()).toHaveLength(1);
    answers([]);
    await pull(APP, { on });
    await pull(`${host}/a/b:1`, { on, by: { ...ALICE, registry: host } });
  });
  test('that has ended counts no more after an answer', async () => {
    const limited = [{ error: 'toomanyrequests: too many requests' }];
    for (const answer of [[], [{ error: 'manifest unknown' }]]) {
      const on = agent({ registries: ['localhost:1'] });
      for (const events of [limited, answer, limited]) {
        answers(events);
        await pull('localhost:1/x:1', { on }).catch(() => {});
      }
      answers([]);
      await pull('localhost:1/x:1', { on });
    }
  });
});

test.each([
  [undefined, { kind: 'refused', message: 'no' }, undefined],
  ['1.1', { kind: 'values', values: { credentials: ALICE } }, ALICE],
  ['1.2', { kind: 'values', values: { credentials: ALICE } }, 'temporary'],
  ['1.1', { kind: 'values', values: { credentials: null } }, 'temporary'],
  ['1.1', { kind: 'refused', message: 'no' }, 'permanent'],
  ['1.1', { kind: 'unreachable', message: 'away' }, 'unreachable'],
])('P232: a start with credentials %j and the answer %j gets %j', async (credentials, answer, expected) => {
  const details: string[] = [];
  const start = assignment(credentials === undefined ? {} : { credentials });
  const at = { signal: new AbortController().signal, progress: (detail: string) => details.push(detail) };
  const found = await pullCredentials(start, async () => answer as never, at).catch(({ kind }) => kind);
  expect(found).toEqual(expected);
  expect(details).toEqual(
    expected === 'unreachable' ? ['waiting for the credentials of its registry: away'] : [],
  );
});

describe('images that this deployment pulled', () => {
  const removeUnused = (wanted: string[] = [], unusedMs = DAY_MS) =>
    own.removeUnused({ wanted: () => wanted, unusedMs });
  const later = (days = 1) => {
    nowMs += days * DAY_MS;
  };
  const names = () => engine.images.map(({ RepoTags }) => RepoTags?.[0]);

  test('P181, P182: one that nobody has used for the time goes, the longest unused first, and its size is reported', async () => {
    answers([]);
    expect(await removeUnused()).toBeUndefined();
    expect(engine.requests).toEqual([]);
    arrives('before:1');
    for (const image of ['before:1', 'b:1', 'a:1']) await pull(image);
    expect(await removeUnused()).toBeUndefined();
    later();
    expect(await removeUnused(['b'])).toMatchObject({ image: 'a:1', bytes: 7, unusedMs: DAY_MS });
    expect(await removeUnused(['b'])).toBeUndefined();
    nowMs += DAY_MS - 1;
    expect(await removeUnused()).toBeUndefined();
    nowMs += 1;
    agent();
    expect(await removeUnused()).toEqual({ image: 'b:1', bytes: 7, unusedMs: DAY_MS });
    expect(await removeUnused()).toBeUndefined();
    expect(names()).toEqual(['before:1']);
    expect(engine.count(/^GET .containers.json\?all=true/)).toBeGreaterThan(0);
    expect(engine.count(/^GET .images.json\?all=true/)).toBeGreaterThan(0);
    expect(engine.count(/^GET .images.json\?shared-size=true/)).toBe(2);
  });

  test('P181: a pull that failed leaves no image of its own, and one that was cut off finds it within an hour', async () => {
    answers([{ error: 'manifest unknown' }]);
    await errorOf(pull('a:1'));
    arrives('a:1');
    later();
    expect(await removeUnused()).toBeUndefined();
    expect(names()).toEqual(['a:1']);
    answers('loss');
    const usual = engine.instead;
    let isAway = false;
    engine.instead = (...request) => {
      const isLook = request[0].startsWith('GET /images/b');
      if (isLook && isAway) return 'loss';
      isAway ||= isLook;
      return usual(...request);
    };
    await errorOf(pull('b:1'));
    engine.instead = () => undefined;
    arrives('b:1');
    expect(await removeUnused()).toBeUndefined();
    later();
    expect(await removeUnused()).toMatchObject({ image: 'b:1' });
  });

  test('P183: one that is refused by the engine, is gone, or is wanted at the last moment is not removed', async () => {
    answers([]);
    for (const image of ['a:1', 'b:1', 'c:1', 'd:1']) await pull(image);
    later();
    let looks = 0;
    const wanted = () => (++looks > 1 ? ['c:1'] : []);
    const statuses: Record<string, number> = { a: 409, b: 404 };
    engine.instead = (request) => {
      const status = statuses[/^DELETE .images.(\w):1/.exec(request)?.[1] ?? ''];
      return status === undefined ? undefined : { status, body: { message: 'no' } };
    };
    expect(await own.removeUnused({ wanted, unusedMs: DAY_MS })).toMatchObject({ image: 'd:1' });
    expect(await removeUnused()).toMatchObject({ image: 'c:1' });
    statuses.a = 500;
    expect(await removeUnused()).toBeUndefined();
    later();
    expect(await errorOf(removeUnused())).toMatchObject(failure('temporary'));
    expect(engine.count(/DELETE .images.b/)).toBe(1);
  });

  test('P183: a pull that begins during the removal of its image waits for the end', async () => {
    answers([]);
    await pull('a:1');
    later();
    const removal = Promise.withResolvers<void>();
    const usual = engine.instead;
    engine.instead = async (...request) => {
      if (request[0].startsWith('DELETE')) await removal.promise;
      return usual(...request);
    };
    const removed = removeUnused();
    await eventually(async () => engine.count(/^DELETE/) === 1);
    const looked = engine.count(/^GET .images.a/);
    const pulled = pull('a:1');
    await pull('other:1');
    expect(engine.count(/^GET .images.a/)).toBe(looked);
    removal.resolve();
    expect(await removed).toMatchObject({ image: 'a:1' });
    await pulled;
    expect(names()).toEqual(['other:1', 'a:1']);
    // What is being pulled is in use.
    const answer = Promise.withResolvers<void>();
    answers(answer.promise);
    const again = pull('a:1');
    await eventually(async () => created().length === 4);
    later();
    expect(await removeUnused(['other:1'])).toBeUndefined();
    answer.resolve();
    await again;
    later();
    expect(await removeUnused(['other:1'])).toMatchObject({ image: 'a:1' });
  });

  test('P185: with more than 900 images the least recently used goes, whatever its age', async () => {
    const images = Array.from({ length: 902 }, (_, at) => {
      return { image: `web:${at}`, id: `i${at}`, usedMs: nowMs - at };
    });
    writeFileSync(`${engine.folder}/images.json`, JSON.stringify({ engine: 'E1', images }));
    for (const { image, id } of images) arrives(image, id);
    for (const image of ['web:901', 'web:900']) expect(await removeUnused()).toMatchObject({ image });
    expect(await removeUnused()).toBeUndefined();
  });

  test('P184: with its last name an image goes with its marks, and one with another name frees nothing', async () => {
    answers([]);
    await pull(APP, { by: ALICE });
    await pull('b:1');
    engine.instead = (request) => {
      if (request.startsWith('POST /images/create')) engine.images[1]?.RepoTags?.push('c:1');
      return request.startsWith('POST /images/create') ? { status: 200, body: '' } : undefined;
    };
    await pull('c:1');
    arrives('<none>:<none>', 'sha256:nameless');
    const mark = 'private.berth.invalid/a/b/c:1.1';
    arrives(mark, 'sha256:marked');
    later();
    expect(await removeUnused(['b:1'])).toMatchObject({ image: APP, bytes: 7 });
    expect(names()).toEqual(['b:1', '<none>:<none>']);
    later();
    expect(await removeUnused()).toMatchObject({ image: 'b:1', bytes: 0 });
    expect(await removeUnused()).toMatchObject({ image: 'c:1', bytes: 7 });
  });
});
