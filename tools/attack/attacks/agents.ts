/** Attacks of a stranger on the endpoints of agents. */
import { randomBytes } from 'node:crypto';
import { CONNECT_PATH, REGISTER_PATH } from '../../../shared/protocol/enrolment.ts';
import { newAgentKey, proofOf } from '../../../test/support/agents/enrolment.ts';
import { type Attack, judgeRefusals } from '../attack.ts';
import { type Reply, upgradeStatus } from '../target/http.ts';
import type { Target } from '../target/target.ts';

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
    return judgeRefusals(statuses, (status) => status >= 400 && status < 500);
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
    return judgeRefusals(statuses, (status) => [401, 403].includes(status));
  },
};

export function register(target: Target, token: string | undefined, body: object): Promise<Reply> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return target.send({ method: 'POST', path: REGISTER_PATH, headers, body: JSON.stringify(body) });
}

export async function deploymentOf(target: Target): Promise<string> {
  const { text } = await target.send({ path: 'info' });
  return (JSON.parse(text) as { deployment_name: string }).deployment_name;
}

export const agents: readonly Attack[] = [socket, registration];
