/** Descriptions and lists that are read in turns, which requests of both hosts await together. */
import { beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const PASSWORD = 'long enough secret';
const EXECUTIONS = 3;
const AT_ONCE = 20;

const text = 'x'.repeat(100_000);
const long = application(service({ environment: ['A', 'B', 'C', 'D'].map((name) => [name, text]) }));

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const ids: number[] = [];
  const bob = new HttpClient(() => host().url(), basic('bob', PASSWORD));
  beforeAll(async () => {
    await addUser(host(), 'bob', PASSWORD, 'user');
    for (let at = 0; at < EXECUTIONS; at++) ids.push(await api.submit(long));
  });

  test('H380: long descriptions and lists that a user asks for at the same time are all answered', async () => {
    const paths = Array.from({ length: AT_ONCE }, (_, at) =>
      at % 2 === 0 ? 'execution' : `execution/${ids[at % EXECUTIONS]}`,
    );
    const replies = await Promise.all(paths.map((path) => api.http.get(path)));
    for (const [at, reply] of replies.entries()) {
      expect(reply.status).toBe(200);
      const shown = at % 2 === 0 ? reply.json<Record<string, unknown>>()[ids[0] ?? 0] : reply.json();
      expect(shown).toMatchObject({ description: long });
    }
  });

  test('H34, H380: a long description of another user is not found', async () => {
    expect((await bob.get(`execution/${ids[0]}`)).status).toBe(404);
  });

  test('W26: a page does not show a description over 64 KiB, and offers it as a file', async () => {
    const web = await WebClient.logIn(host);
    const page = await web.get(`/executions/${ids[0]}`);
    expect(page.text).toContain('The description has 391.0 KiB.');
    expect(page.text).not.toContain('xxxxxxxxxx');
    const { text } = await web.get(`/executions/${ids[0]}/description.json`);
    expect(JSON.parse(text)).toEqual(long);
  });
});
