/**
 * An agent whose real engine hangs, fails, loses answers or is away. The agent then reports nothing that it
 * has not seen.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../agent/engine/engine.ts';
import { connectEngine, DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { type AgentRig, agentRig } from '../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../support/agents/control-plane-peer.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { EngineProxy } from '../../support/engines/engine-proxy.ts';
import { eventually } from '../../support/tools/eventually.ts';

const CALL_MS = 2000;
const { docker, engine, makeEngine, assignment, scratch } = dockerRig('trouble');
let proxy: EngineProxy;
let behind: Engine;
let rig: AgentRig;
let peer: PeerConnection;

beforeEach(async () => {
  const socket = socketOf(process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET)) ?? DEFAULT_SOCKET;
  proxy = await EngineProxy.open(`${scratch()}/engine.sock`, socket);
  const host = unixHost(proxy.path);
  behind = makeEngine({ docker: connectEngine(host, CALL_MS), streams: connectEngine(host) });
  await behind.facts();
  rig = await agentRig(behind, { dataDir: `${scratch()}/data`, refreshMs: 500 });
  peer = await rig.peer.connection();
  peer.welcome();
});
afterEach(async () => {
  await rig.close();
  proxy.close();
});

const logged = (reason: RegExp) => eventually(() => rig.log.some((line) => reason.test(line)));
const statesOf = ({ service }: Assignment) => peer.observations(service).map(({ state }) => state);

/** A running service, and one to start. */
async function startOne(): Promise<[running: Assignment, next: Assignment]> {
  const running = assignment({ command: ['sh', '-c', 'trap "exit 3" TERM; while true; do sleep 0.1; done'] });
  peer.start(running);
  await peer.reported(1, 'running');
  return [running, assignment({ service: 2, name: `next-${running.name}` })];
}

test('P145: a container ends at once although the engine does not get to its kill', async () => {
  const [running] = await startOne();
  await proxy.become('kills-nothing');
  const [container] = await engine().list();
  await behind.kill(String(container?.id));
  expect(await peer.reported(running.service, 'exited')).toMatchObject({ exitCode: 137 });
  expect(statesOf(running)).not.toContain('gone');
});

test('P49: while an engine hangs nothing is reported gone or failed, and everything continues when it answers', async () => {
  const [running, next] = await startOne();
  await proxy.become('hangs');
  peer.start(next);
  await logged(/step\.failed.*"unreachable"/);
  await logged(/engine\.lost/);
  expect(statesOf(running).at(-1)).toBe('running');
  expect(statesOf(next)).toEqual([]);
  await proxy.become('well');
  await peer.reported(2, 'running');
  expect(statesOf(running)).not.toContain('gone');
  expect(await engine().list()).toHaveLength(2);
});

test('P49: a start at an engine that answers with 500 fails temporarily; containers keep running, and a stop is retried', async () => {
  const [running, next] = await startOne();
  await proxy.become('fails');
  peer.start(next);
  expect(await peer.reported(2, 'failed')).toMatchObject({
    temporary: true,
    message: 'the daemon is in trouble',
  });
  peer.stop(running);
  await logged(/step\.failed.*"stop"/);
  expect(statesOf(running).at(-1)).toBe('running');
  await proxy.become('well');
  await peer.reported(1, 'gone');
  expect(await engine().list()).toEqual([]);
});

test('P49: an exit while the engine is unreachable is reported later, with its code', async () => {
  const [running] = await startOne();
  const [container] = await engine().list();
  await proxy.become('refuses');
  await logged(/engine\.lost/);
  await docker.getContainer(String(container?.id)).stop();
  expect(statesOf(running).at(-1)).toBe('running');
  await proxy.become('well');
  expect(await peer.reported(1, 'exited')).toMatchObject({ exitCode: 3 });
});

test('P5, P49: a start whose answers are lost creates one container and starts it once', async () => {
  await proxy.become('loses');
  peer.start(assignment({ command: ['sh', '-c', 'echo life; exec sleep 1000'] }));
  await logged(/step\.failed.*"create".*"unreachable"/);
  await eventually(async () => (await engine().list()).length === 1);
  await proxy.become('well');
  const { containerId } = await peer.reported(1, 'running');
  expect((await engine().list()).map(({ id }) => id)).toEqual([containerId]);
  const { RestartCount } = await docker.getContainer(containerId).inspect();
  expect(RestartCount).toBe(0);
});

test('P320: another engine in place of the one that the agent began with counts as none, and its lack of containers as no removal', async () => {
  const [running, next] = await startOne();
  await proxy.become('is-another');
  await logged(/engine\.lost/);
  await expect(behind.watch(() => {})).rejects.toThrow(/^another engine answers, XXXX\S+, in place of /);
  peer.start(next);
  await proxy.become('well');
  await peer.reported(2, 'running');
  expect(statesOf(running)).not.toContain('gone');
  expect(await engine().list()).toHaveLength(2);
});
