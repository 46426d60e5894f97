/** Bounds of streams, what the audit log has of them, and why they end, on both hosts. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic } from '../../support/clients/http-client.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Host, hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const ADMIN = basic('admin', ADMIN_PASSWORD);
const LIMITS = {
  BERTH_LIMITS: JSON.stringify({
    streams: 5,
    streamsPerUser: 4,
    streamsPerService: 2,
    streamsPerHost: 3,
    auditedCommandLength: 4_096,
  }),
  BERTH_METRICS: 'open',
};
/** Not with the bounds, since a slow machine has their streams open for longer. */
const TIMES = { BERTH_LIMITS: JSON.stringify({ streamIdleS: 5, streamTimeS: 7 }), BERTH_METRICS: 'open' };

/** Agents and clients of a host, which are closed after each test. */
function rigOf(host: () => Host) {
  const api = new ApiClient(host);
  const agents: ScriptedAgent[] = [];
  const clients: StreamClient[] = [];
  let tests = 0;

  beforeEach(() => {
    tests += 1;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const agent of agents.splice(0)) if (agent.closeCode === undefined) await agent.close();
  });

  /** Services that run on a host of their own. */
  const running = async (
    count: number,
    user = api,
  ): Promise<{ agent: ScriptedAgent; services: Assignment[] }> => {
    const name = `host${tests}-${agents.length}`;
    const agent = await ScriptedAgent.join(host(), { facts: { name, labels: [name] } });
    agents.push(agent);
    const groups = Array.from({ length: count }, (_, n) => service({ name: `app${n}`, labels: [name] }));
    const services = await agent.assigned(await user.submit(application(...groups)), count);
    await agent.report(...services.map(seen.running));
    return { agent, services };
  };
  const open = async (to: Assignment, headers = ADMIN, words = ['true']): Promise<StreamClient> => {
    const url = `${host().url()}/api/0.7/service/${to.service}/exec`;
    const client = await StreamClient.open(url, { type: 'exec', words }, headers);
    clients.push(client);
    return client;
  };
  /** A stream that the agent has accepted. */
  const opened = async (agent: ScriptedAgent, to: Assignment, headers = ADMIN): Promise<StreamClient> => {
    const before = agent.streams.length;
    const client = await open(to, headers);
    (await agent.stream(before)).accept();
    await client.got('opened');
    return client;
  };
  const reasonOf = async (client: StreamClient) => (await client.got('reset')).message;
  const metrics = async () => (await fetch(`${host().url()}/metrics`)).text();
  /** Name of the test's first host. */
  const name = () => `host${tests}-0`;
  return { api, name, running, open, opened, reasonOf, metrics };
}

onHosts(
  hosts,
  (host) => {
    const { api, name, running, open, opened, reasonOf, metrics } = rigOf(host);
    test('H689: a service, a host, a user and all together have no more streams than the bounds', async () => {
      const [one, other] = [await running(2), await running(2)];
      const [a, b] = one.services as [Assignment, Assignment];
      const [c, d] = other.services as [Assignment, Assignment];
      const first = await opened(one.agent, a);
      await opened(one.agent, a);
      expect(await reasonOf(await open(a))).toContain('The service has 2 streams open');
      await opened(one.agent, b);
      expect(await reasonOf(await open(b))).toContain('The host of the service has 3 streams open');
      await opened(other.agent, c);
      expect(await reasonOf(await open(d))).toContain('You have 4 streams open');
      await new AccountClient(host).addUser('operator', { role_id: 1 });
      const operator = basic('operator', 'secret words');
      await opened(other.agent, d, operator);
      expect(await reasonOf(await open(d, operator))).toContain('All users together have 5 streams open');
      const text = await metrics();
      for (const reason of ['service', 'host', 'user', 'total'])
        expect(text).toMatch(new RegExp(`^berth_streams_refused_total\\{reason="${reason}"\\} 1$`, 'm'));
      expect(text).toContain('berth_streams_opened_total{purpose="exec"} 5\n');
      for (const [name, setting, used] of [
        ['streams', 'BERTH_LIMITS.streams', 5],
        ['streams_of_one_user', 'BERTH_LIMITS.streamsPerUser', 4],
        ['streams_of_one_service', 'BERTH_LIMITS.streamsPerService', 2],
        ['streams_of_one_host', 'BERTH_LIMITS.streamsPerHost', 3],
      ])
        expect(text).toContain(`berth_limit_used{name="${name}",setting="${setting}"} ${used}\n`);
      first.close();
      await eventually(async () =>
        (await metrics()).includes(`{name="streams",setting="BERTH_LIMITS.streams"} 4\n`),
      );
      await opened(one.agent, a);
    });
    test('H690: with the setting the audit log has the words of a command, in one line of ASCII', async () => {
      const { services } = await running(1);
      const [to] = services as [Assignment];
      await open(to, ADMIN, ['/bin/MyProgram', 'Two words', 'a\n\x1b[31mred\u009b', 'x'.repeat(5_000)]);
      const fields = await eventually(async () => {
        const reply = await api.http.get('/native/api/0.7/audit?action=exec-service&limit=1');
        const [row] = Object.values(reply.json<Record<string, { target: string; fields: string[] }>>());
        return row?.target === `service/${to.service}` ? row.fields : undefined;
      });
      expect(fields).toHaveLength(3);
      expect(fields?.slice(0, 2)).toEqual(['MyProgram', 'words=4']);
      expect(fields?.[2]).toMatch(
        /^command=\["\/bin\/MyProgram","Two words","a\\n\\u001b\[31mred\\u009b","x{4000,4096} \(and \d+ characters\)$/,
      );
    });
    test('H691: a stream ends at once when its host is drained, its service or its execution ends, or its agent dies', async () => {
      const { agent, services } = await running(1);
      const [to] = services as [Assignment];
      const client = await opened(agent, to);
      const hostOf = async () => {
        const all = (await api.http.get('host')).json<Record<string, { id: number; name: string }>>();
        return Object.values(all).find((one) => one.name === name())?.id;
      };
      expect(
        (await api.http.post(`host/${await hostOf()}`, { schedulable: false, force: true })).status,
      ).toBe(200);
      expect(await reasonOf(client)).toBe(`The service moves: host ${name()} is drained.`);
      expect(await reasonOf(await open(to))).toContain('drained');

      const ended = await running(2);
      const [main, side] = ended.services as [Assignment, Assignment];
      const streams = [await opened(ended.agent, main), await opened(ended.agent, side)];
      await ended.agent.report(seen.exited(main, 0));
      expect(await Promise.all(streams.map(reasonOf))).toEqual([
        'The service has ended.',
        'The execution ends, and its service with it.',
      ]);

      const dying = await running(1);
      const last = await opened(dying.agent, dying.services[0] as Assignment);
      dying.agent.terminate();
      expect(await reasonOf(last)).toContain('The host has lost its connection: its agent has stopped');
    });
  },
  LIMITS,
);

onHosts(
  hosts,
  (host) => {
    const { running, opened, reasonOf, metrics } = rigOf(host);
    test('H689: a stream without a byte ends, and so does a long one; bytes are counted', async () => {
      const { agent, services } = await running(1);
      const [to] = services as [Assignment];
      const [idle, long] = [await opened(agent, to), await opened(agent, to)];
      const stream = await agent.stream(1);
      const say = setInterval(() => long.write('x'), 500);
      await stream.write('\x01four');
      expect(await reasonOf(idle)).toBe('The stream carried nothing for 5 s, which is the most.');
      expect(await reasonOf(long)).toBe('The stream has lasted for 7 s, which is the most.');
      clearInterval(say);
      // What passed a gateway is reported with its next message.
      await agent.report(seen.running(to));
      await eventually(async () => {
        const text = await metrics();
        return /_bytes_total\{direction="in"\} [1-9]/.test(text) && text.includes('{direction="out"} 5\n');
      });
    });
  },
  TIMES,
);
