import { expect, test } from 'vitest';
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

  test.each<[string, () => string]>([
    ['100 services with long names and 1,000 instances', () => JSON.stringify(named('n'.repeat(9_000), 100))],
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
