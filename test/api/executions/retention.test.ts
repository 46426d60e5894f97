import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../../control-plane/core/lifecycle/retention.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Long enough for a slow machine to read an execution that has just ended. */
const KEEP_MS = 10_000;
const TIMEOUT_MS = 60_000;

onHosts(
  hosts,
  (host) => {
    const api = new ApiClient(host);
    let agent: ScriptedAgent;
    beforeAll(async () => {
      agent = await ScriptedAgent.join(host());
    });
    afterAll(() => agent.close());

    const statusOf = async (id: number) => (await api.http.get(`execution/${id}`)).status;

    async function started() {
      const id = await api.submit(application(service()));
      const [assignment] = await agent.assigned(id);
      if (!assignment) throw new Error('the service was not assigned');
      await agent.report(seen.running(assignment));
      return { id, assignment };
    }

    test(
      'C240, H392: an ended execution goes with its services and its log after its days, and a running one stays',
      async () => {
        const [ended, running] = [await started(), await started()];
        await api.terminate(ended.id);
        await agent.report(seen.gone(ended.assignment));
        const { time_end } = await api.execution(ended.id);
        expect(await statusOf(ended.id)).toBe(200);
        await eventually(async () => (await statusOf(ended.id)) === 404, TIMEOUT_MS);
        expect(Date.now()).toBeGreaterThanOrEqual(Number(time_end) * 1_000 + KEEP_MS);
        expect((await api.http.get(`service/${ended.assignment.service}`)).status).toBe(404);
        await eventually(() =>
          agent.all('forget').some(({ services }) => services.includes(ended.assignment.service)),
        );
        await agent.reportForgotten(ended.assignment.service);
        const db = await host().openDb();
        try {
          const rows = 'SELECT id FROM services WHERE execution_id = ?';
          await eventually(async () => (await db.query(rows, [ended.id])).length === 0);
          expect(await db.query(rows, [running.id])).toHaveLength(1);
        } finally {
          await db.close();
        }
        expect(await api.execution(running.id)).toMatchObject({ status: 'running' });
        const historyOf = async () =>
          ((await api.http.get('statistics/scheduler')).json() as { history: Record<string, number> })
            .history;
        await eventually(async () => (await historyOf()).reviewed !== null);
        expect(await historyOf()).toEqual({
          ...{ keep_ended_days: KEEP_MS / DAY_MS, removed: 1, reviewed: expect.any(Number) },
        });
        await api.terminate(running.id);
        await agent.report(seen.gone(running.assignment));
      },
      2 * TIMEOUT_MS,
    );

    test(
      'C244: expired sessions, tokens, join tokens, failed logins and removed hosts go, and others stay',
      async () => {
        const db = await host().openDb();
        const old = Date.now() - 2 * 3_600_000;
        const later = Date.now() + DAY_MS;
        const [user] = await db.query('SELECT max(id) AS id FROM users');
        const hostRow = `INSERT INTO hosts (name, address, labels, memory_bytes, cores, schedulable, agent_version,
          engine_version, last_contact_ms, lost, removed_ms) VALUES (?, '', '[]', 1, 1, 1, '', '', 0, 0, ?)`;
        for (const [name, timeMs] of Object.entries({ old, later }))
          await db.batch([
            {
              sql: 'INSERT INTO sessions VALUES (?, ?, 1, ?, NULL, NULL, NULL)',
              args: [name, user?.id ?? 0, timeMs],
            },
            {
              sql: "INSERT INTO tokens VALUES (?, 'refresh', ?, ?, 1, ?)",
              args: [name, name, user?.id ?? 0, timeMs],
            },
            { sql: "INSERT INTO join_tokens VALUES (?, NULL, '[]', ?, NULL)", args: [name, timeMs] },
            { sql: 'INSERT INTO login_failures VALUES (?, 1, ?)', args: [name, timeMs] },
            { sql: hostRow, args: [`removed:${name}`, timeMs] },
          ]);
        const rowsNamed = async (name: string) => {
          const [row] = await db.query(
            `SELECT (SELECT count(*) FROM sessions WHERE token_hash = ?)
              + (SELECT count(*) FROM tokens WHERE id_hash = ?)
              + (SELECT count(*) FROM join_tokens WHERE hash = ?)
              + (SELECT count(*) FROM login_failures WHERE bucket = ?)
              + (SELECT count(*) FROM hosts WHERE name = 'removed:' || ?) AS rows`,
            [name, name, name, name, name],
          );
          return Number(row?.rows);
        };
        try {
          await eventually(async () => (await rowsNamed('old')) === 0, TIMEOUT_MS);
          expect(await rowsNamed('later')).toBe(5);
        } finally {
          await db.close();
        }
      },
      2 * TIMEOUT_MS,
    );
  },
  { BERTH_LIMITS: JSON.stringify({ endedDays: KEEP_MS / DAY_MS }) },
);
