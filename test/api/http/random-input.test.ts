import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { registeredHost } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { type BadRequest, badRequest, LAST_ID, PLAIN, STORM } from '../../support/fixtures/bad-requests.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { eitherGroup, onHosts, type Setup } from '../../support/hosts/hosts.ts';
import { checkExchange } from '../../support/tools/documented.ts';
import { caseCount, fc } from '../../support/tools/random-cases.ts';
import { routesOf } from '../../support/tools/routes.ts';

/** Every run sends the same requests. A request that fails is printed, and becomes a named test. */
const SEED = 20261121;
const AT_ONCE = 10;
/** Far longer than any request takes; a longer one hangs. */
const LIMIT_MS = 60_000;

onHosts(eitherGroup, (host, { kind, variant }) => {
  const api = new ApiClient(host);
  const routes = routesOf(variant);
  const kinds = ['execution', 'host', ...(variant === 'B' ? ['user', 'role', 'quota'] : [])];
  let cookie = '';

  beforeAll(async () => {
    await addUser(host(), STORM.username, STORM.password, STORM.role);
    await addUser(host(), PLAIN.username, PLAIN.password, PLAIN.role);
    // Terminated, because the log of a waiting execution has no end.
    const all = Array.from({ length: LAST_ID }, (_, at) => `host${at}`);
    await Promise.all(all.map(async () => api.terminate(await api.submit())));
    // Hosts whose agents never connect.
    await Promise.all(all.map((name) => registeredHost(host(), name)));
    const login = await new HttpClient(() => host().url(), basic(STORM.username, STORM.password)).get(
      'login',
    );
    cookie = login.headers['set-cookie']?.[0] ?? '';
  });

  test('H190: no request gets more than an error in the shape of the group, and a refused one changes nothing', {
    timeout: 120_000,
  }, async () => {
    const before = await everything();
    const changed = new Set<string>();
    const added = new Set<string>();
    const statuses = new Map<number, number>();

    const storm = fc.asyncProperty(
      fc.array(badRequest(routes, kind, cookie), { minLength: AT_ONCE, maxLength: AT_ONCE }),
      async (requests) => {
        await Promise.all(requests.map(one));
      },
    );
    const one = async (sent: BadRequest) => {
      const reply = await send(host().url(), sent).catch((cause) => {
        throw new Error(`no answer to ${inWords(sent)}`, { cause });
      });
      try {
        checkReply(reply, sent, variant);
        await checkDocumented(host().url(), reply, sent);
      } catch (error) {
        throw new Error(`${inWords(sent)}: ${(error as Error).message}`, { cause: error });
      }
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      if (reply.status !== 200 || !['POST', 'DELETE'].includes(sent.method)) return;
      const [, kind, id] = /^\/api\/0\.7\/(\w+)(?:\/delete)?(?:\/0*(\d+))?/.exec(sent.path) ?? [];
      if (id !== undefined) changed.add(`${kind} ${id}`);
      else if (kind) added.add(`${kind} ${reply.json()[`${kind}_id`]}`);
    };
    await fc.assert(storm, {
      seed: SEED,
      numRuns: caseCount(40),
      interruptAfterTimeLimit: 100_000,
    });

    const after = await everything();
    for (const [name, value] of Object.entries(before)) {
      if (!changed.has(name)) expect(after[name], name).toEqual(value);
    }
    for (const name of Object.keys(after)) expect(before[name] ?? added.has(name), name).toBeTruthy();
    // The random requests met all of these statuses.
    for (const status of [200, 400, 401, 403, 404, 405]) expect([...statuses.keys()]).toContain(status);
    expect(await api.statistics()).toMatchObject({ termination_threads_count: 0 });
  });

  /** Every object, by kind and id. */
  async function everything(): Promise<Record<string, unknown>> {
    const found: [string, unknown][] = [];
    for (const kind of kinds) {
      const reply = await api.http.get(kind);
      expect(reply.status, reply.text).toBe(200);
      for (const [id, value] of Object.entries(reply.json())) found.push([`${kind} ${id}`, value]);
    }
    return Object.fromEntries(found);
  }
});

function checkReply(
  reply: Reply,
  { method, path, headers: sent }: BadRequest,
  variant: Setup['variant'],
): void {
  const { status, headers, text } = reply;
  expect(status, text).toBeLessThan(500);
  expect(headers).not.toHaveProperty('x-evil');
  if (method === 'HEAD') expect(text).toBe('');
  if (status === 405) {
    expect(headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
    expect(headers.allow?.split(', ')).not.toContain(method);
  }
  if (status === 401) expect(headers['www-authenticate']).toMatch(/^(Basic|Bearer) /);
  if (status < 400 || variant === 'A') expect(headers).not.toHaveProperty('status');
  if (status < 400) {
    if (text !== '') expect(headers['content-type']).toMatch(/^\w+\/\w+/);
    return;
  }
  // Rule W6.
  const isRead = method === 'GET' || method === 'HEAD';
  const isPage = status === 404 && isRead && sent.accept === 'text/html' && !/^\/(api|agent)\//.test(path);
  expect(headers['content-type']).toBe(`${isPage ? 'text/html' : 'application/json'}; charset=utf-8`);
  if (isPage) return;
  if (variant === 'B') {
    expect(headers.status).toMatch(/^[!-~]([ -~]{0,254}[!-~])?$/);
    expect(reply.reason).toBe(headers.status);
  }
  if (method !== 'HEAD') expect(reply.json().message).toMatch(/\S/);
}

const checkDocumented = (url: string, reply: Reply, { method, path, body }: BadRequest) =>
  checkExchange({
    method,
    origin: new URL(url).origin,
    path,
    requestBody: body?.toString(),
    status: reply.status,
    header: (name) => reply.headers[name.toLowerCase()]?.toString(),
    body: reply.text,
  });

/** Sent with node:http and the path as it is, because a URL object would normalise it. */
function send(url: string, { method, path, headers, body }: BadRequest): Promise<Reply> {
  const { hostname, port } = new URL(url);
  const signal = AbortSignal.timeout(LIMIT_MS);
  const length = body && { 'content-length': `${body.byteLength}` };
  return new Promise((resolve, reject) => {
    const options = {
      hostname,
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: false,
      signal,
    };
    const outgoing = request(options, (response) => {
      bodyOf(response).then((received) => {
        const { statusCode: status = 0, statusMessage: reason = '', headers } = response;
        resolve({ status, reason, headers, text: received, json: () => JSON.parse(received) });
      }, reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Only the first piece of an event stream, because such a stream has no end. */
async function bodyOf(response: IncomingMessage): Promise<string> {
  if (!response.headers['content-type']?.startsWith('text/event-stream')) return text(response);
  for await (const chunk of response) return String(chunk);
  return '';
}

const inWords = ({ method, path, headers, body }: BadRequest): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${JSON.stringify(body?.toString().slice(0, 500))}`;
