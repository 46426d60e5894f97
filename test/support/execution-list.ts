/** Owns what the list of executions promises, for the suite of the pages of executions. */
import { beforeAll, describe, expect, test } from 'vitest';
import { AccountClient } from './account-client.ts';
import { ApiClient } from './api-client.ts';
import { application, service } from './descriptions.ts';
import { addExecutions, type ExecutionRow } from './execution-rows.ts';
import type { Host } from './hosts.ts';
import { WebClient } from './web-client.ts';

const NASTY = '"><script>alert(1)</script><img src=x onerror=alert(1)>';

/** With the ids of `ann` and `bob`, who are there. */
export function testExecutionList(
  host: () => Host,
  admin: () => WebClient,
  users: Readonly<Record<string, number>>,
): void {
  const accounts = new AccountClient(host);

  /** Ids of the executions that a list shows, in its order. */
  async function listed(search: string, as = admin()): Promise<number[]> {
    const { status, text } = await as.get(`/executions${search}`);
    expect(status, text).toBe(200);
    return [...text.matchAll(/<tr id="execution-(\d+)"/g)].map(([, id]) => Number(id));
  }

  describe('the list', () => {
    const row = (id: number, changes: Partial<ExecutionRow> = {}): ExecutionRow => {
      const submitMs = 1_700_000_000_000 + id * 1_000;
      const times = { submitMs, startMs: submitMs + 500, endMs: submitMs + 60_500 };
      return { id, name: `run-${id}`, userId: users.ann ?? 0, status: 'terminated', ...times, ...changes };
    };

    beforeAll(async () => {
      const db = await host().openDb();
      await addExecutions(db, [
        ...Array.from({ length: 118 }, (_, n) => row(1_001 + n)),
        row(1_119, { name: 'Night batch', userId: users.bob ?? 0, submitMs: Date.now() - 10 * 60_000 }),
        row(1_120, { name: 'Night', status: 'error', submitMs: Date.now() - 5 * 3_600_000 }),
      ]);
      const because = `UPDATE executions SET error_message = ? WHERE id = 1120`;
      await db.batch([{ sql: because, args: [`${NASTY}${'e'.repeat(300)}`] }]);
      await db.close();
    });

    test('W20: it is in pages of 50, newest first, without a gap or a repetition', async () => {
      const seen: number[] = [];
      let path: string | undefined = '';
      while (path !== undefined) {
        const { text } = await admin().get(`/executions${path}`);
        seen.push(...(await listed(path)));
        path = /<a class="button" rel="next" href="\/executions([^"]*)"/.exec(text)?.[1];
      }
      expect(seen).toEqual([1_119, 1_120, ...Array.from({ length: 118 }, (_, n) => 1_118 - n)]);
      expect(await listed('')).toHaveLength(50);
    });

    test.each([
      ['?state=error', [1_120]],
      ['?name=night', [1_119, 1_120]],
      ['?name=%22Night%22', [1_120]],
      ['?name=%22night%22', []],
      ['?owner=bob', [1_119]],
      ['?owner=nobody', []],
      ['?within=1h', [1_119]],
      ['?within=1d&state=error', [1_120]],
      ['?within=1d&state=queued', []],
      ['?name=night&state=&owner=&within=', [1_119, 1_120]],
    ])('W20: %s narrows it down', async (search, ids) => {
      expect(await listed(search)).toEqual(ids);
    });

    test('W20: what of a URL can not be read counts as not given', async () => {
      const all = await listed('');
      for (const search of [
        '?state=odd',
        '?within=x',
        '?before=-1',
        '?before=x',
        '?within=toString',
        '?no=1',
      ]) {
        expect(await listed(search), search).toEqual(all);
      }
    });

    test('W20: states are links with how many there are, under the other filters', async () => {
      const { text } = await admin().get('/executions?name=night&state=error');
      const tabs = [...text.matchAll(/<li><a href="([^"]*)"[^>]*>([a-z ]+) <span class="count">([\d,]+)/g)];
      const counts = Object.fromEntries(tabs.map(([, , state, count]) => [state, Number(count)]));
      expect(counts).toMatchObject({ all: 2, error: 1, terminated: 1, running: 0, queued: 0 });
      expect(tabs.map(([, href]) => href)).toContain('/executions?state=terminated&amp;name=night');
    });

    test('W21: a user sees own executions only, and is refused those of others', async () => {
      const bob = await WebClient.logIn(host, 'bob', 'secret');
      expect(await listed('', bob)).toEqual([1_119]);
      expect(await listed('?owner=bob', bob)).toEqual([1_119]);
      expect((await bob.get('/executions?owner=ann')).status).toBe(403);
      expect((await bob.get('/executions')).text).not.toContain('>Owner');
    });

    test('W22: an error is told in short, and nothing of it is markup', async () => {
      const { text } = await admin().get('/executions?state=error');
      expect(text).toContain('&lt;script&gt;alert(1)');
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('e'.repeat(200));
    });

    test('W20: a list without anything says why, and what to do', async () => {
      expect((await admin().get('/executions?owner=nobody')).text).toContain('Nothing fits the filters');
      expect((await admin().get('/executions?state=running')).text).toContain('Nothing is running now');
      await accounts.addUser('cid');
      const cid = await WebClient.logIn(host, 'cid', 'secret');
      expect((await cid.get('/executions')).text).toContain('Nothing has been started yet');
    });
  });

  describe('many at once', () => {
    test('W23: those that are ticked are terminated, each by itself', async () => {
      const [ann, bob] = [new ApiClient(host, 'ann', 'secret'), new ApiClient(host, 'bob', 'secret')];
      const described = application(service({ labels: ['nowhere'] }));
      const [one, two, foreign] = [
        await ann.submit(described),
        await ann.submit(described),
        await bob.submit(described),
      ];
      const web = await WebClient.logIn(host, 'ann', 'secret');
      const both = await web.act('/executions/terminate', [
        ['id', `${one}`],
        ['id', `${two}`],
        ['back', '/executions?state=queued'],
      ]);
      expect(both.text).toContain('2 executions are being terminated.');
      expect((await ann.execution(one)).status).toBe('terminated');
      const mixed = await web.act('/executions/terminate', [
        ['id', `${two}`],
        ['id', `${foreign}`],
        ['id', 'x'],
      ]);
      expect(mixed.text).toContain('0 executions are being terminated. 2 could not be:');
      expect(mixed.text).toContain('The execution has already ended. There is no such execution.');
      expect((await bob.execution(foreign)).status).toBe('queued');
      expect((await web.act('/executions/terminate')).text).toContain('No execution was ticked.');
      await bob.terminate(foreign);
    });
  });
}
