/** Sessions and tokens on several isolates of workerd, each with its own memory of what it has seen. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { sessionOf } from '../../../support/clients/web-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD } from '../../../support/hosts/hosts.ts';
import { type LimitedWorkerd, startLimitedWorkerd } from '../../../support/hosts/workerd/limited-workerd.ts';

const ISOLATES = 3;
const ROUNDS = 2;
const submission = { name: 'x', application: application(service()) };

let workerd: LimitedWorkerd;
beforeAll(async () => {
  const settings = { BERTH_ADMIN_PASSWORD: ADMIN_PASSWORD, BERTH_API_VARIANT: 'A' };
  workerd = await startLimitedWorkerd([], settings, { isolates: ISOLATES });
});
afterAll(() => workerd.stop());

const isolates = Array.from({ length: ISOLATES }, (_, at) => new HttpClient(() => workerd.urls()[at] ?? ''));
const [first = new HttpClient(() => workerd.url())] = isolates;
const byPassword = first.with(basic('admin', ADMIN_PASSWORD));

interface Bearer {
  headers: Record<string, string>;
  end(): Promise<number>;
}

async function newSession(): Promise<Bearer> {
  const form = new URLSearchParams({ username: 'admin', password: ADMIN_PASSWORD }).toString();
  const headers = { cookie: sessionOf(await first.send('POST', '/login', form)) };
  return { headers, end: async () => (await first.with(headers).send('POST', '/logout')).status };
}

async function newToken(): Promise<Bearer> {
  const granted = await byPassword.post('oauth/token', { grant_type: 'password' });
  const { access_token: token } = granted.json<{ access_token: string }>();
  const headers = { authorization: `Bearer ${token}` };
  return { headers, end: async () => (await first.with(headers).delete(`oauth/revoke/${token}`)).status };
}

test.each([
  ['session', newSession, 303],
  ['token', newToken, 200],
] as const)(
  'C222, H382: a %s that has ended is refused by every isolate at once, however often it was seen',
  async (_, open, done) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { headers, end } = await open();
      const clients = isolates.map((one) => one.with(headers));
      const request = (client: HttpClient, n: number) =>
        n % 2 === 0 ? client.get('execution?limit=1') : client.post('execution', submission);
      for (const client of clients)
        for (const n of [0, 1, 2, 3]) expect((await request(client, n)).status).toBe(200);
      let hasEnded = false;
      const late: number[] = [];
      const sending = clients.flatMap((client) =>
        [0, 1].map(async (n) => {
          for (let isLate = false; !isLate; ) {
            isLate = hasEnded;
            const { status } = await request(client, n);
            if (isLate) late.push(status);
          }
        }),
      );
      expect(await end()).toBe(done);
      hasEnded = true;
      await Promise.all(sending);
      expect(late).toEqual(Array.from({ length: 2 * ISOLATES }, () => 401));
    }
  },
);
