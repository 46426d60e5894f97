import { describe, expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';

const MIB = 1024 * 1024;
/** Far beyond any of them on a busy machine; before H306 the worst took two minutes. */
const MAX_MS = 30_000;
/** 100 problems, each twice. */
const MAX_ANSWER = 250_000;

onHosts(eitherGroup, (host) => {
  const anonymous = new HttpClient(() => host().url());
  const api = new ApiClient(host);

  const named = (name: string, count = 1) => ({
    ...application(),
    services: Array.from({ length: count }, () => ({ ...service({ name, total_count: 1000 }) })),
  });
  /** A thousand in each service. */
  const wrongVariables = (count: number) => {
    const environment = Array.from({ length: 1_000 }, () => []);
    const services = Array.from({ length: count }, (_, n) => ({
      ...service({ name: `web${n}x` }),
      environment,
    }));
    return JSON.stringify({ ...application(), services });
  };
  const keys = () => {
    const names = Array.from({ length: 90_000 }, (_, n) => `"k${n}":0`);
    return `{${names.join(',')}}`;
  };

  describe('hostile bodies', () => {
    test.each<[string, () => string]>([
      [
        '100 services with long names and 1,000 instances',
        () => JSON.stringify(named('n'.repeat(9_000), 100)),
      ],
      ['100,000 wrong variables', () => wrongVariables(100)],
      ['90,000 unknown keys', keys],
      [
        'a command of words',
        () => JSON.stringify(application(service({ command: `{ab} ${'a '.repeat(500_000)}` }))),
      ],
    ])('H306: a description with %s is 400 at once, in a short answer', async (_, text) => {
      const body = text();
      expect(body.length).toBeLessThanOrEqual(MIB);
      for (const ask of [
        () => anonymous.send('POST', 'app_validate', body),
        () => api.http.send('POST', 'execution', `{"name":"test","application":${body}}`),
      ])
        expectRefused(await timed(ask));
    });

    test('H306: an answer states how many problems it leaves out', async () => {
      const { message, problems } = (await anonymous.send('POST', 'app_validate', wrongVariables(10))).json<{
        message: string;
        problems: unknown[];
      }>();
      expect(problems).toHaveLength(100);
      expect(message).toMatch(/; and at least \d+ more problems$/);
    });

    test.each([
      ['lists', '['.repeat(65) + ']'.repeat(65)],
      ['half a million lists', '['.repeat(500_000)],
      ['URL-encoded lists', `${'%5B'.repeat(65)}=`],
    ])('H307: a body of %s that is too deep is 400, with its depth and the limit', async (_, body) => {
      for (const path of ['app_validate', 'execution', 'host/token']) {
        const reply = await api.http.send('POST', path, body);
        expect(reply.status).toBe(400);
        expect(reply.json<{ message: string }>().message).toMatch(
          /^The body has (65|500000) levels of lists and objects within each other; the limit is 64: /,
        );
      }
    });

    test.each<[string, () => string]>([
      ['500,000 labels', () => `{"labels":[${'0,'.repeat(500_000)}0]}`],
      ['90,000 unknown fields', keys],
      ['a name of a megabyte', () => JSON.stringify({ name: ' '.repeat(MIB - 20) })],
    ])('H306: a request for a join token with %s is 400 at once, in a short answer', async (_, body) => {
      expectRefused(await timed(() => api.http.send('POST', 'host/token', body())));
    });
  });
});

async function timed(ask: () => Promise<Reply>): Promise<{ reply: Reply; ms: number }> {
  const startMs = performance.now();
  const reply = await ask();
  return { reply, ms: performance.now() - startMs };
}

function expectRefused({ reply, ms }: { reply: Reply; ms: number }): void {
  expect(reply.status).toBe(400);
  expect(reply.text.length).toBeLessThan(MAX_ANSWER);
  expect(ms).toBeLessThan(MAX_MS);
}
