/** Attacks on the endpoints of agents: by a stranger, and by a host that the administrator has enrolled. */
import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import { CONNECT_PATH, REGISTER_PATH } from '../../../shared/protocol/enrolment.ts';
import { newAgentKey, proofOf } from '../../support/agents/enrolment.ts';
import { hello, ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { type Attack, judge, Skipped } from '../attack.ts';
import { type Reply, upgradeStatus } from '../target/http.ts';
import type { Target } from '../target/target.ts';
import { whileOthers } from './others-served.ts';

/** What a host offers that takes no service: each one needs at least 0.1 cores. */
const TINY = { memoryBytes: 1, cores: 0.01 };
const MIB = 2 ** 20;

const socket: Attack = {
  id: 'agent-socket',
  who: 'a stranger',
  rules: ['P16', 'P18'],
  tries: "connects as an agent without a proof, with a made-up proof, and with another deployment's key",
  run: async (target) => {
    const forged = proofOf(1, 'another', newAgentKey());
    const statuses: number[] = [];
    for (const authorization of ['', 'Bearer garbage', forged, `Bearer ${'a'.repeat(12_000)}`]) {
      const headers = { authorization };
      const { signal, url } = target;
      statuses.push(await upgradeStatus(url, { path: CONNECT_PATH, headers, signal }));
    }
    return judge(
      statuses.every((status) => status >= 400 && status < 500)
        ? []
        : [`it was answered ${statuses.join(', ')}`],
      `refused with ${statuses.join(', ')}`,
    );
  },
};

const registration: Attack = {
  id: 'host-registration',
  who: 'a stranger',
  rules: ['P16'],
  tries: 'registers a host without a join token, and with a made-up one',
  run: async (target) => {
    const deployment = await deploymentOf(target);
    const body = { deployment, name: 'berth-attack', publicKey: newAgentKey().publicKey };
    const statuses: number[] = [];
    for (const token of [undefined, randomBytes(32).toString('base64url')])
      statuses.push((await register(target, token, body)).status);
    return judge(
      statuses.every((status) => [401, 403].includes(status))
        ? []
        : [`it was answered ${statuses.join(', ')}`],
      `refused with ${statuses.join(', ')}`,
    );
  },
};

function register(target: Target, token: string | undefined, body: object): Promise<Reply> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return target.send({ method: 'POST', path: REGISTER_PATH, headers, body: JSON.stringify(body) });
}

async function deploymentOf(target: Target): Promise<string> {
  const { text } = await target.send({ path: 'info' });
  return (JSON.parse(text) as { deployment_name: string }).deployment_name;
}

const claims: Attack = {
  id: 'host-claims',
  who: 'a host',
  rules: ['C208', 'P136'],
  tries: 'draws work by labels and a size that were not agreed, and stores a message of 8 MB (--enrol)',
  run: async (target) => {
    if (!target.options.enrol) throw new Skipped('needs --enrol');
    const admin = target.account('admin');
    const given = await target.sendAs(admin, 'POST', 'host/token', {});
    const deployment = await deploymentOf(target);
    const name = `berth-attack-${randomBytes(4).toString('hex')}`;
    const key = newAgentKey();
    const { token } = JSON.parse(given.text) as { token: string };
    const registered = await register(target, token, { deployment, name, publicKey: key.publicKey });
    const { host_id: id } = JSON.parse(registered.text) as { host_id: number };
    target.ofAttack.add(() => target.undo(admin, 'DELETE', `host/${id}`, [200]));
    const connect = async (facts: object): Promise<ScriptedAgent> => {
      const agent = await connected(target, proofOf(id, deployment, key));
      target.ofAttack.add(() => agent.close().catch(() => {}));
      agent.send(hello({ deployment }, { facts: { ...TINY, name, ...facts } }));
      await target.until(async () => agent.all('sync').length > 0 || undefined);
      return agent;
    };
    await (await connect({})).close();
    const agent = await connect({ labels: ['berth-attack'], memoryBytes: 2 ** 40, cores: 0.02 });
    const host = async () =>
      (JSON.parse((await target.sendAs(admin, 'GET', `host/${id}`)).text) as { host: HostJson }).host;
    const { labels, memory_total, pending } = await host();
    const { problems } = await whileOthers(target, async () => {
      agent.sendRaw(
        JSON.stringify({
          type: 'report',
          sequence: 1,
          observations: [],
          forgotten: [],
          x: 'a'.repeat(8 * MIB),
        }),
      );
      await target.pause(500);
    });
    return judge(
      [
        ...problems,
        ...(labels.length > 0 ? [`the host has the labels ${labels.join(' ')}`] : []),
        ...(memory_total > TINY.memoryBytes ? [`the host has ${memory_total} bytes of memory`] : []),
        ...(pending ? [] : ['its offer does not wait for an administrator']),
      ],
      'the offer waits for an administrator, and others were served',
    );
  },
};

interface HostJson {
  labels: string[];
  memory_total: number;
  pending: object | null;
}

async function connected(target: Target, authorization: string): Promise<ScriptedAgent> {
  const url = new URL(CONNECT_PATH, target.url.href.replace(/^http/, 'ws'));
  const ws = new WebSocket(url, { headers: { authorization } });
  ws.on('error', () => {});
  const agent = new ScriptedAgent(ws);
  await target.until(async () => {
    if (ws.readyState === WebSocket.CLOSED) throw new Error('the connection of the host was refused');
    return ws.readyState === WebSocket.OPEN || undefined;
  });
  return agent;
}

export const agents: readonly Attack[] = [socket, registration, claims];
