/** Attacks of a host that the administrator has enrolled (--enrol). */
import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import { CONNECT_PATH } from '../../../shared/protocol/enrolment.ts';
import { newAgentKey, proofOf } from '../../../test/support/agents/enrolment.ts';
import { hello, ScriptedAgent } from '../../../test/support/agents/scripted-agent.ts';
import { type Attack, judge, Skipped } from '../attack.ts';
import type { Target } from '../target/target.ts';
import { deploymentOf, register } from './agents.ts';
import { whileOthers } from './others-served.ts';

/** What a host offers that takes no service: each one needs at least 0.1 cores. */
const TINY = { memoryBytes: 1, cores: 0.01 };
const MIB = 2 ** 20;
/** P154 allows one less. */
const CONNECTIONS = 5;
/** Half as many again as the default allowance of a host has room for (P152), and how many are on the way. */
const REPORTS = 48 * 1_024;
const WINDOW = 1_024;
/** A host whose messages are answered later has to wait. */
const ANSWER_MS = 1_000;

interface EnrolledHost {
  id: number;
  /** Connects once more, and waits for the sync. */
  connect(facts: object): Promise<ScriptedAgent>;
}

/** A host of its own, which is removed in the end. */
async function enrol(target: Target): Promise<EnrolledHost> {
  if (!target.options.enrol) throw new Skipped('needs --enrol');
  const admin = target.account('admin');
  const deployment = await deploymentOf(target);
  const name = `berth-attack-${randomBytes(4).toString('hex')}`;
  const key = newAgentKey();
  const { token } = await target.jsonAs<{ token: string }>(admin, 'POST', 'host/token', {});
  const registered = await register(target, token, { deployment, name, publicKey: key.publicKey });
  const { host_id: id } = JSON.parse(registered.text) as { host_id: number };
  target.ofAttack.add(() => target.undo(admin, 'DELETE', `host/${id}`, [200]));
  const connect = async (facts: object): Promise<ScriptedAgent> => {
    const agent = await connected(target, proofOf(id, deployment, key));
    target.ofAttack.add(async () => agent.terminate());
    agent.send(hello({ deployment }, { facts: { ...TINY, name, ...facts } }));
    await target.until(async () => agent.all('sync').length > 0 || undefined);
    return agent;
  };
  return { id, connect };
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

const claims: Attack = {
  id: 'host-claims',
  who: 'a host',
  rules: ['C208', 'P136'],
  tries: 'draws work by labels and a size that were not agreed, and stores a message of 8 MB (--enrol)',
  run: async (target) => {
    const { id, connect } = await enrol(target);
    await (await connect({})).close();
    const agent = await connect({ labels: ['berth-attack'], memoryBytes: 2 ** 40, cores: 0.02 });
    const { host } = await target.jsonAs<{ host: HostJson }>(target.account('admin'), 'GET', `host/${id}`);
    const { labels, memory_total, pending } = host;
    const { problems } = await whileOthers(target, async () => {
      const report = { type: 'report', sequence: 1, observations: [], forgotten: [] };
      agent.sendRaw(JSON.stringify({ ...report, x: 'a'.repeat(8 * MIB) }));
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

const flood: Attack = {
  id: 'host-flood',
  who: 'a host',
  rules: ['P152', 'P154'],
  tries: 'opens many connections, and sends as fast as it is answered (--enrol)',
  run: async (target) => {
    const { connect } = await enrol(target);
    const agents: ScriptedAgent[] = [];
    for (let nth = 0; nth < CONNECTIONS; nth++) agents.push(await connect({}));
    await target.until(async () => agents[0]?.closeCode);
    const { done, problems, slowestMs } = await whileOthers(target, () => send(target, agents.at(-1)));
    if (done === 'taken')
      throw new Skipped(`all messages were taken: the allowance is beyond (BERTH_LIMITS.hostMessageBytes)`);
    return judge(
      problems,
      `its oldest connection was closed, then ${done}; others waited ${Math.round(slowestMs)} ms at most`,
    );
  },
};

/** Sends reports as long as they are answered. Returns what happened in the end. */
async function send(target: Target, agent: ScriptedAgent | undefined): Promise<string> {
  for (let first = 1; first <= REPORTS; first += WINDOW) {
    const last = first + WINDOW - 1;
    for (let sequence = first; sequence <= last; sequence++)
      agent?.send({ type: 'report', sequence, observations: [], forgotten: [] });
    const isAnswered = () => (agent?.all('ack').at(-1)?.sequence ?? 0) >= last;
    const beganMs = performance.now();
    while (!isAnswered()) {
      if (agent?.closeCode !== undefined) return 'the one that sent';
      if (performance.now() - beganMs > ANSWER_MS) return 'its messages had to wait';
      await target.pause(20);
    }
  }
  return 'taken';
}

export const hosts: readonly Attack[] = [claims, flood];
