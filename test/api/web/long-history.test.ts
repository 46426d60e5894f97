import { beforeAll, expect, test } from 'vitest';
import { SEARCHED_NAMES } from '../../../control-plane/core/views/execution-filter.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { hosts, onHosts, writeRow } from '../../support/hosts/hosts.ts';

/** The oldest execution is called `first`, the others `later`. */
const ROWS = SEARCHED_NAMES + 100;
/** So recent that they are kept (C243). */
const FROM_MS = Date.now() - 10 * 86_400_000;

onHosts(hosts, (host) => {
  const admin = WebClient.ofAdmin(host);
  beforeAll(async () => {
    const insert = `INSERT INTO executions (id, name, user_id, description, status, deleted, time_submit_ms, time_end_ms,
      attempts, service_count) SELECT id, iif(id = 1, 'first', 'later'), (SELECT min(id) FROM users), '{}',
      iif(id % 5 = 0, 'error', 'terminated'), 0, ${FROM_MS} + id, ${FROM_MS} + id, 0, 0 FROM (WITH RECURSIVE n (id) AS
      (SELECT ? UNION ALL SELECT id + 1 FROM n WHERE id < ?) SELECT id FROM n)`;
    await writeRow(host(), insert, [1, 1]);
    const db = await host().openDb();
    await db.query(insert, [2, ROWS]);
    await db.close();
  });

  const page = async (path: string) => {
    const { status, text } = await admin.get(path);
    expect(status, text).toBe(200);
    return text;
  };
  /** The page that the link leads to. */
  const follow = (text: string, words: string) => {
    const [, path = ''] = new RegExp(`href="([^"]*)">${words}<`).exec(text) ?? [];
    expect(path, text).not.toBe('');
    return page(path.replaceAll('&amp;', '&'));
  };
  const countsIn = (text: string) =>
    Object.fromEntries(
      [...text.matchAll(/>([a-z ]+) <span class="count">([\d,+]+)</g)].map(([, state, count]) => [
        state,
        count,
      ]),
    );

  test('W20, H390: the list counts each state up to 10,000', async () => {
    const text = await page('/executions');
    expect(countsIn(text)).toMatchObject({
      all: '10,000+',
      queued: '0',
      terminated: '10,000+',
      error: '5,020',
    });
    expect(text).toContain('50 of 10,000+');
  });

  test('W20, H393: counts of a search that has not read all executions end with a plus sign', async () => {
    const text = await page('/executions?name=later');
    expect(countsIn(text)).toMatchObject({
      all: '10,000+',
      queued: '0+',
      terminated: '10,000+',
      error: '5,000+',
    });
    expect(text).toContain('50 of 10,000+');
  });

  test('W20, H393: a part of a name is searched in 25,000 executions, then in older ones on request; in one state or further down there are no counts of others', async () => {
    const errors = await page('/executions?name=later&state=error');
    expect(countsIn(errors)).toEqual({});
    expect(errors).toContain('>50 executions<');
    const none = await page('/executions?name=irs');
    expect(none).toContain('No match so far');
    expect(none).not.toContain('>first<');
    const older = await follow(none, 'Search older ones');
    expect(older).toContain('>first<');
    expect(countsIn(older)).toEqual({});
    expect(older).toContain('>1 execution<');
    expect(older).not.toMatch(/\d of \d|Search older/);
  });

  test('W20, H393: a page with few matches offers to search older executions', async () => {
    const db = await host().openDb();
    await db.query(`UPDATE executions SET name = 'thirst' WHERE id = ?`, [ROWS - 5]);
    await db.close();
    const one = await page('/executions?name=IRS');
    expect(one).toContain('>thirst<');
    expect(await follow(one, 'Search older')).toContain('>first<');
  });

  test('W20: a whole name in double quotes is found however old it is', async () => {
    expect(await page(`/executions?name=${encodeURIComponent('"first"')}`)).toContain('>first<');
  });
});
