/** The adapter of Docker engines, at an engine in memory: its decisions and the requests that follow. */
import { mkdir, readdir, readlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type Docker from 'dockerode';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { DockerEngineOptions } from '../../../../agent/engine/docker/docker-engine.ts';
import { DockerEngine } from '../../../../agent/engine/docker/docker-engine.ts';
import type { StartMark } from '../../../../agent/engine/engine.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { engineOptions, errorOf } from '../../../support/engines/docker-rig.ts';
import { ScriptedEngine } from '../../../support/engines/scripted-engine.ts';
import { assignment as plain } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { serving } from '../../../support/tools/serving.ts';

const MISSING = { status: 404, body: { message: 'No such container: scripted1' } };
const TROUBLE = { status: 500, body: { message: 'the daemon is in trouble' } };
const TAKEN = { status: 500, body: { message: 'Bind for 0.0.0.0:1 failed: port is already allocated' } };
const NO_INIT = { status: 500, body: { message: 'exec: "docker-init": executable file not found in $PATH' } };
const NO_PIN = { status: 500, body: { message: 'failed to mount local volume: mount /proc/7/fd/8:/v' } };

let engine: ScriptedEngine;
let docker: Docker;
let agent: DockerEngine;
beforeEach(async () => {
  ({ engine, docker } = await ScriptedEngine.open());
  engine.images = [{ Id: 'sha256:one', RepoTags: ['berth/busybox:1'] }];
  agent = agentEngine();
});

/** Containers join the host's network, so that no other is looked for. */
const agentEngine = (changes: Partial<DockerEngineOptions> = {}): DockerEngine =>
  new DockerEngine(docker, docker, {
    deployment: 'blue',
    ...engineOptions,
    local: false,
    networks: ['host'],
    bind: '10.0.0.5',
    intentsFile: `${engine.folder}/pulls.json`,
    images: { file: `${engine.folder}/images.json`, log: () => {}, nowMs: Date.now },
    ...changes,
  });
const assignment = (changes: Partial<Assignment> = {}) => plain({ network: 'host', ...changes });
const create = (changes: Partial<Assignment> = {}, on = agent) => on.create(assignment(changes), 1);
const run = async (changes: Partial<Assignment> = {}, on = agent) =>
  on.start(assignment(changes), (await create(changes, on)).id, 1, true);
const made = (id = 'scripted1') => engine.containers.get(id) ?? expect.unreachable();
/** Answers requests that match, once for each answer; the last one stays. */
const answerTo = (wanted: RegExp, ...answers: (object | undefined)[]) => {
  engine.instead = (request) =>
    wanted.test(request) ? ((answers.length > 1 ? answers.shift() : answers[0]) as never) : undefined;
};
/** The health checks. */
const times = { intervalMs: 60_000, timeoutMs: 1_000, retries: 1, startPeriodMs: 0 };
const endedAt = (agoMs: number) => new Date(Date.now() - agoMs).toISOString();
const exit = (id: string, ExitCode: number) =>
  engine.set(id, { Status: 'exited', ExitCode, StartedAt: endedAt(61_000), FinishedAt: endedAt(60_000) });
/** A caller's mark, and what became of it and of containers, in order. */
function markAt(): StartMark & { calls: string[] } {
  const calls: string[] = [];
  return { calls, clear: () => calls.push('clear'), set: () => calls.push('set') };
}

describe('the engine', () => {
  test('P121: its files and its folder count only on the machine of the agent', async () => {
    engine.info.DockerRootDir = engine.folder;
    await mkdir(`${engine.folder}/containers`);
    expect(await agent.facts()).toEqual({
      memoryBytes: 2 ** 30,
      cores: 4,
      version: '28',
      id: `E1@${engine.folder}`,
      dataDir: undefined,
    });
    expect(agent.outputFile('scripted1')).toBeUndefined();
    await create();
    expect(made().HostConfig.LogConfig?.Config['max-file']).toBe('2');
    const local = agentEngine({ local: true });
    expect(await local.facts()).toMatchObject({ dataDir: engine.folder });
    expect(local.outputFile('scripted1')).toContain(`${engine.folder}/containers/scripted1/`);
    await create({ service: 2 }, local);
    expect(made('scripted2').HostConfig.LogConfig?.Config['max-file']).toBe('1');
  });

  test('P320: a watch of another engine in its place fails and ends, unless the agent knows none yet', async () => {
    (await agent.watch(() => {})).close();
    await agent.facts();
    (await agent.watch(() => {})).close();
    engine.info.ID = 'E2';
    engine.events.length = 0;
    expect(await errorOf(agent.watch(() => {}))).toMatchObject({
      kind: 'unreachable',
      message: 'another engine answers, E2@/nowhere, in place of E1@/nowhere',
    });
    await eventually(async () => engine.events[0]?.destroyed);
  });

  test('P49: a watch ends with the stream of events, or once it is closed', async () => {
    const lost = await agent.watch(() => {});
    engine.events[0]?.destroy();
    await expect(lost.ended).rejects.toMatchObject({ kind: 'unreachable' });
    const watch = await agent.watch(() => {});
    watch.close();
    await watch.ended;
  });

  test('P49, P314: an engine that does not list its containers in time is away', async () => {
    answerTo(/^GET \/containers/, 'silence' as never);
    expect(await errorOf(agentEngine({ listMs: 10 }).list())).toMatchObject({
      kind: 'unreachable',
      message: 'the engine does not answer',
    });
  });

  test('the networks and folders that nothing uses are looked for', async () => {
    answerTo(/^GET \/(networks|volumes)/, { status: 200, body: [] });
    await agent.removeUnused(0);
    expect(engine.count(/^GET \/networks/)).toBeGreaterThan(0);
    expect(engine.count(/^GET \/volumes/)).toBe(1);
  });
});

describe('a container', () => {
  test('P6: those of another deployment or host are neither listed nor found, and ended ones are', async () => {
    await run();
    await create({ service: 2 }, agentEngine({ host: 'node2' }));
    await create({ service: 3 }, agentEngine({ deployment: 'green' }));
    await create({ service: 4 });
    exit('scripted4', 0);
    const listed = (await agent.list()).map(({ id, state }) => `${id} ${state}`);
    expect(listed).toEqual(['scripted1 running', 'scripted4 exited']);
    const ids = ['scripted1', 'scripted2', 'scripted3', 'scripted9'];
    const found = await Promise.all(ids.map((id) => agent.inspect(id)));
    expect(found.map((one) => one?.state)).toEqual(['running', undefined, undefined, undefined]);
    answerTo(/./, TROUBLE);
    expect(await errorOf(agent.inspect('scripted1'))).toMatchObject({ kind: 'temporary' });
  });

  test('P326: what ended a container is explained by the events of this start of it', async () => {
    const { id } = await run();
    const watch = await agent.watch(() => {});
    onTestFinished(() => watch.close());
    const ended = async (ExitCode: number) => {
      exit(id, ExitCode);
      return await agent.inspect(id);
    };
    engine.event('kill', id, { Attributes: { signal: '9' } });
    await eventually(async () => expect(await ended(137)).toMatchObject({ memoryKill: 'none' }));
    engine.set(id, { Status: 'running' });
    await agent.inspect(id);
    expect(await ended(137)).not.toHaveProperty('memoryKill');
    engine.event('oom', id);
    await eventually(async () => expect(await ended(1)).toMatchObject({ memoryKill: 'other-process' }));
    await agent.list();
    expect(await ended(1)).toMatchObject({ memoryKill: 'other-process' });
    const container = made(id);
    engine.containers.clear();
    await agent.list();
    engine.containers.set(id, container);
    expect(await ended(1)).not.toHaveProperty('memoryKill');
  });

  test('P210: its health is found while it runs, reported, and forgotten when it has ended or gone', async () => {
    const port = await serving(createServer((_, response) => void response.end()));
    const local = agentEngine({ local: true });
    const health = { kind: 'tcp' as const, port, ...times };
    const changed: string[] = [];
    const watch = await local.watch((id) => changed.push(id));
    onTestFinished(() => watch.close());
    const { id } = await create({ health }, local);
    made(id).NetworkSettings.Networks.host = { IPAddress: '127.0.0.1', NetworkID: '' } as never;
    const begin = async () => {
      changed.length = 0;
      engine.set(id, { Status: 'running', StartedAt: '2026-01-01T00:00:00Z' });
      expect(await local.inspect(id)).toMatchObject({ health: { state: 'starting' } });
      await eventually(async () => expect(changed).toEqual([id]));
      for (let look = 0; look < 2; look += 1)
        expect(await local.list()).toMatchObject([{ id, health: 'healthy' }]);
    };
    await begin();
    exit(id, 0);
    await local.list();
    await begin();
    exit(id, 0);
    await local.inspect(id);
    await begin();
    answerTo(/scripted1\/json/, MISSING);
    await local.inspect(id);
    answerTo(/x/, undefined);
    await begin();
    await local.remove(id);
    for (const check of [
      { kind: 'http' as const, port, path: '/' },
      { kind: 'command' as const, words: ['true'] },
    ]) {
      const other = await create({ health: { ...check, ...times } }, local);
      made(other.id).NetworkSettings.Networks.host = { IPAddress: '127.0.0.1', NetworkID: '' } as never;
      engine.set(other.id, { Status: 'running' });
      await local.inspect(other.id);
      const isCommand = check.kind === 'command';
      if (!isCommand) await eventually(async () => expect(changed).toContain(other.id));
      await eventually(async () => expect(engine.count(/exec$/)).toBe(isCommand ? 1 : 0));
      await local.remove(other.id);
    }
    await local.list();
  });

  test('C199, P303: its memory, init process and ports follow from the engine and the settings', async () => {
    const ports = [{ port: 80, protocol: 'tcp' as const }];
    const configOf = async (service: number, on: DockerEngine) => {
      const { id } = await create({ service, ports }, on);
      return made(id).HostConfig;
    };
    const portsOf = (number: object) => ({ '80/tcp': [expect.objectContaining(number)] });
    expect(await configOf(1, agentEngine({ reservedOf: (total) => total / 4 }))).toMatchObject({
      Memory: 0.75 * 2 ** 30,
      Init: true,
      PortBindings: portsOf({ HostIp: '10.0.0.5', HostPort: '' }),
    });
    engine.info.InitBinary = '';
    expect(await configOf(2, agentEngine({ bind: null }))).toMatchObject({
      Init: false,
      PortBindings: portsOf({ HostPort: expect.stringMatching(/^\d+$/) }),
    });
    delete (engine.info as Partial<typeof engine.info>).InitBinary;
    expect((await configOf(3, agentEngine())).Init).toBe(false);
  });

  test('P235, P308, P212: one that must not start is removed, and the start fails', async () => {
    engine.images.push(
      { Id: 'sha256:other', RepoTags: ['other:1'], Architecture: 's390x' },
      { Id: 'sha256:own', RepoTags: ['own:1', `private.berth.invalid/a/b/c:1.1`] },
    );
    expect(await errorOf(create({ image: 'other:1' }))).toMatchObject({ kind: 'permanent' });
    expect(await errorOf(create({ image: 'own:1' }))).toMatchObject({ kind: 'image-missing' });
    for (const kind of ['http', 'tcp'] as const) {
      const health = { kind, port: 1, path: '/', ...times };
      expect((await errorOf(create({ health }))).message).toContain(`cannot check by ${kind}`);
      await create({ health }, agentEngine({ local: true }));
      engine.containers.clear();
    }
    const ofImage = create({ health: { kind: 'image', ...times } });
    expect(await errorOf(ofImage)).toMatchObject({ kind: 'permanent' });
    expect(engine.containers.size).toBe(0);
    await create({ health: { kind: 'command', words: ['true'], ...times } });
    expect(engine.containers.size).toBe(1);
    // An earlier process made it, and ended before it looked.
    engine.images[0]?.RepoTags?.push('private.berth.invalid/a/b/c:1.1');
    for (const mayReplace of [false, true]) {
      const mark = markAt();
      const container = made([...engine.containers.keys()][0]);
      const started = agentEngine().start(assignment(), container.Id, 1, mayReplace, mark);
      expect(await errorOf(started)).toMatchObject({ kind: 'temporary' });
      expect(mark.calls).toEqual(mayReplace ? ['clear'] : []);
      expect(engine.containers.size).toBe(0);
      engine.containers.set(container.Id, container);
    }
  });

  test('P145: one is killed, stopped and removed with its volumes', async () => {
    for (const on of [agent, agentEngine({ local: true })]) {
      const { id } = await create();
      engine.requests.length = 0;
      await on.stop(id);
      await on.kill(id);
      await on.remove(id);
      expect(engine.requests).toEqual([
        `POST /containers/${id}/stop?t=10`,
        `POST /containers/${id}/kill`,
        `DELETE /containers/${id}?v=true&force=true`,
      ]);
    }
  });
});

describe('a start', () => {
  const start = (id: string, mayReplace = true, mark = markAt()) =>
    agent.start(assignment(), id, 1, mayReplace, mark);

  test('P303: on ports that are taken it has others, five times in all, in a container that has not run', async () => {
    const { id } = await create();
    const mark = markAt();
    answerTo(/start$/, TAKEN, TAKEN, TAKEN, TAKEN, undefined);
    expect(await start(id, true, mark)).toMatchObject({ id: 'scripted5', state: 'running' });
    expect([...engine.containers.keys()]).toEqual(['scripted5']);
    expect(mark.calls.join()).toBe('clear,set,clear,set,clear,set,clear,set');
    answerTo(/start$/, TAKEN);
    engine.requests.length = 0;
    expect((await errorOf(start('scripted5'))).message).toContain('allocated');
    expect(engine.count(/start$/)).toBe(5);
  });

  test('P114: one that may have run is not replaced', async () => {
    const { id } = await create();
    const mark = markAt();
    answerTo(/start$/, TAKEN);
    expect(await errorOf(start(id, false, mark))).toMatchObject({
      kind: 'temporary',
      message: 'the container may have run before, and cannot start again as it was created',
    });
    expect([[...engine.containers.keys()], mark.calls]).toEqual([[id], []]);
  });

  test('without an init process at the engine it starts without one, and so do all later ones', async () => {
    const { id } = await create();
    answerTo(/start$/, NO_INIT, undefined);
    expect(await start(id)).toMatchObject({ id: 'scripted2', state: 'running' });
    expect(made('scripted2').HostConfig.Init).toBe(false);
    await create({ service: 2 });
    expect(made('scripted3').HostConfig.Init).toBe(false);
    answerTo(/start$/, NO_INIT);
    expect((await errorOf(start('scripted3'))).message).toContain('docker-init');
    expect(engine.count(/containers.create/)).toBe(3);
  });

  test('on a network that is gone it is made again', async () => {
    const on = agentEngine({ network: 'net' });
    const wanted = plain();
    answerTo(/networks/, { status: 200, body: { Scope: 'local' } });
    const { id } = await on.create(wanted, 1);
    const gone = { status: 404, body: { message: 'network net not found' } };
    answerTo(/networks|start$/, gone, { status: 200, body: { Scope: 'local' } }, undefined);
    expect(await on.start(wanted, id, 1, true)).toMatchObject({ id: 'scripted2', state: 'running' });
  });

  test('of a container that runs it succeeds, and otherwise fails as the engine does', async () => {
    const { id } = await run();
    expect(await start(id, false)).toMatchObject({ state: 'running' });
    answerTo(/start$/, TROUBLE);
    expect(await errorOf(start(id))).toMatchObject({ message: 'the daemon is in trouble' });
    expect(engine.count(/containers.create/)).toBe(1);
    answerTo(/scripted1\/json/, { status: 200, body: made() }, MISSING);
    expect((await errorOf(start(id, false))).message).toContain('vanished right after its start');
  });
});

describe('host folders', () => {
  let folder: string;
  let volumes: Assignment['volumes'];
  let on: DockerEngine;
  const found: (string | undefined)[] = [];
  beforeEach(async () => {
    folder = `${engine.folder}/data/in`;
    await mkdir(folder, { recursive: true });
    volumes = [{ name: 'in', path: folder, readOnly: false }];
    on = agentEngine({ volumeRoots: [`${engine.folder}/data`], runAs: 'fs_uid' });
    found.length = 0;
    on.watchFolders((problem) => found.push(problem));
    engine.instead = pinnable;
  });

  /** What shows that folders can be pinned. */
  const pinnable = (request: string) => {
    if (request.startsWith('HEAD')) return { status: 200 };
    if (request.startsWith('POST /volumes/create')) return { status: 201, body: {} };
    if (request.startsWith('GET /volumes/')) return { status: 200, body: { Mountpoint: engine.folder } };
    if (request.startsWith('DELETE /volumes/')) return { status: 204 };
    return undefined;
  };
  const proofs = () => engine.count(/^POST \/volumes\/create/);
  const openHandles = async () => {
    const names = await readdir('/proc/self/fd');
    const paths = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
    return paths.filter((path) => path === folder).length;
  };

  test('P114: they stay open until the container has started or is removed', async () => {
    const { id } = await create({ volumes }, on);
    expect(found).toEqual([undefined]);
    expect(made(id).Config.User).toBe('1000:1000');
    expect(await openHandles()).toBe(1);
    await on.start(assignment({ volumes }), id, 1, false);
    expect(await openHandles()).toBe(0);
    const { id: other } = await create({ service: 2, volumes }, on);
    await on.remove(other);
    expect(await openHandles()).toBe(0);
    await errorOf(create({ service: 3, volumes, image: 'none:1' }, on));
    expect(await openHandles()).toBe(0);
    const { id: without } = await create({ service: 4, user: '5' }, on);
    expect(made(without).Config.User).toBe('5');
  });

  test('P114: a container whose folders only an earlier process held open is made again before its start', async () => {
    const { id } = await create({ volumes }, on);
    const next = agentEngine({ volumeRoots: [`${engine.folder}/data`] });
    const wanted = assignment({ volumes });
    const { id: replaced } = await next.start(wanted, id, 1, true);
    expect(replaced).not.toBe(id);
    expect(await next.start(wanted, replaced, 1, false)).toMatchObject({ id: replaced });
    const { id: plainOne } = await create({ service: 2 }, on);
    expect(await next.start(assignment({ service: 2 }), plainOne, 1, false)).toMatchObject({ id: plainOne });
    await on.remove(id);
  });

  test('P115: that they can be pinned is proved again after a mount fails, and with each watch', async () => {
    const { id } = await create({ volumes }, on);
    expect(proofs()).toBe(1);
    const fails = (answer: object) => (request: string) =>
      request.endsWith('start') ? (answer as typeof TROUBLE) : pinnable(request);
    for (const answer of [TROUBLE, NO_PIN]) {
      engine.instead = fails(answer);
      await errorOf(on.start(assignment({ volumes }), id, 1, false));
      await on.remove((await create({ service: 2, volumes }, on)).id);
      expect(proofs()).toBe(answer === NO_PIN ? 2 : 1);
    }
    (await on.watch(() => {})).close();
    await on.remove((await create({ service: 3, volumes }, on)).id);
    expect(proofs()).toBe(3);
    await on.remove(id);
  });
});
