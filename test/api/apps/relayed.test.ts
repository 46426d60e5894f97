/**
 * Web applications from a browser's request to the application and back, at host names and at paths: the
 * login, the relay and the end of access together, on both hosts.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { type ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { joinAppAgent } from '../../support/apps/app-agent.ts';
import { type AppServer, startAppServer } from '../../support/apps/app-server.ts';
import { AccountClient, ROLE } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { AppVisitor, VISIT } from '../../support/clients/app-visitor.ts';
import { HttpClient } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const PASSWORD = 'correct: horse';
const SESSIONS = 20;
const PATHS = 'paths.example-apps.net';
const ENV = {
  BERTH_APPS_URL: 'https://*.apps.example-apps.org',
  BERTH_APPS_PATHS: `https://${PATHS}`,
  BERTH_PUBLIC_URL: 'https://berth.example.org',
  BERTH_LIMITS: JSON.stringify({ sessionsPerUser: SESSIONS }),
};
const PORTS: ServiceDescription['ports'] = [
  { name: 'web', port_number: 8080, protocol: 'tcp', url_template: 'http://{ip_port}/', proxy: true },
  { name: 'late', port_number: 8081, protocol: 'tcp', url_template: 'http://{ip_port}/' },
];
/** Nothing listens there. */
const CLOSED_PORT = 1;
const PROGRAM = { accept: '*/*' };

/** An application that runs. */
interface Running {
  execution: number;
  service: number;
  assigned: Assignment;
  /** Its host name. */
  name: string;
  /** `/<key>` */
  prefix: string;
}

onHostsWith(ENV, hosts, (host) => {
  const accounts = new AccountClient(host);
  let app: AppServer;
  let agent: ScriptedAgent;
  let one: Running;
  let shared: Running;

  beforeAll(async () => {
    app = await startAppServer();
    for (const name of ['ada', 'bob']) await accounts.addUser(name, {}, PASSWORD);
    agent = await joinAppAgent(host(), 'host1', (port) => (port === 8080 ? app.port : CLOSED_PORT));
    [one, shared] = [await run(), await run({ share: 'users' })];
  });
  afterAll(async () => {
    await agent?.close();
    await app?.close();
  });

  async function run(more: object = {}): Promise<Running> {
    const api = new ApiClient(host, 'ada', PASSWORD);
    const execution = await api.submit({ ...application(service({ ports: PORTS })), ...more });
    const assigned = await agent.runs(execution);
    const urls = (await api.endpoints(execution)).map(([, url]) => new URL(url));
    const prefix = urls.find((url) => url.host === PATHS)?.pathname.replace(/\/$/, '') ?? '';
    expect(prefix).toMatch(/^\/8080-\d+-[\w-]{22}$/);
    const { service: id } = assigned;
    return { execution, service: id, assigned, name: `8080-${id}.apps.example-apps.org`, prefix };
  }
  const session = (name = 'ada') => WebClient.logIn(host, name, PASSWORD);
  /** A browser that has been let in. Resolves once the application has answered. */
  async function admitted(
    { name }: Pick<Running, 'name'>,
    path = '/head',
    by?: WebClient,
  ): Promise<AppVisitor> {
    const visitor = new AppVisitor(host);
    const reply = await visitor.open(name, by ?? (await session()), path);
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    return visitor;
  }
  /** The request of that number that waits at the application. */
  async function heldAt(nth: number) {
    const held = await eventually(() => app.held[nth]);
    if (!held) throw new Error('nothing waits');
    return held;
  }
  /** Answers the request that arrives at the application, with cookies of its own. */
  async function served<T>(ask: () => Promise<T>): Promise<{ got: IncomingMessage; reply: T }> {
    const nth = app.held.length;
    const asked = ask();
    const held = await heldAt(nth);
    held.writeHead(200, { 'set-cookie': ['wide=1; Path=/', 'plain=1', 'own=1; Domain=example-apps.net'] });
    held.end('answered');
    return { got: held.req, reply: await asked };
  }
  /** A request whose answer goes on, and what it has got so far. */
  async function streaming(visitor: AppVisitor, { name }: Running) {
    const nth = app.held.length;
    const client = request(`${host().url()}/stream`, {
      agent: false,
      headers: { host: name, cookie: visitor.cookiesFor(name), ...PROGRAM },
    }).end();
    onTestFinished(() => void client.destroy());
    const served = await heldAt(nth);
    served.writeHead(200, { 'content-type': 'text/event-stream' });
    served.write('data: 1\n\n');
    const [answer] = (await once(client, 'response')) as [IncomingMessage];
    await once(answer, 'data');
    const ended = new Promise<boolean>((resolve) => {
      answer.on('error', () => {}).on('close', () => resolve(answer.complete));
    });
    return { served, ended };
  }
  async function socketAt(visitor: AppVisitor, name: string, path = '/socket'): Promise<WebSocket> {
    const url = host().url().replace('http', 'ws') + path;
    const cookie = visitor.cookiesFor(name);
    const socket = new WebSocket(url, { headers: { host: name, cookie, origin: `https://${name}` } });
    onTestFinished(() => socket.terminate());
    await once(socket, 'open');
    socket.send('hello');
    expect(String((await once(socket, 'message'))[0])).toBe('hello');
    return socket;
  }
  const closeOf = async (socket: WebSocket) => {
    const [code, reason] = await once(socket, 'close');
    return [code, String(reason)];
  };
  test('H716: a logout ends running requests and sockets at once, with the reason', async () => {
    const by = await session();
    const visitor = await admitted(one, undefined, by);
    const socket = await socketAt(visitor, one.name);
    const { ended, served } = await streaming(visitor, one);
    const closed = closeOf(socket);
    await by.post('/logout');
    expect(await closed).toEqual([1001, expect.stringContaining('Log in again.')]);
    expect(await ended).toBe(false);
    await eventually(() => served.destroyed);
    expect((await visitor.send(one.name, '/head', PROGRAM)).status).toBe(401);
  });
  test('H762: a request right after the answer to the change that ended its access is refused, whatever went on before', async () => {
    const ways: ((user: number, by: WebClient, name: string) => Promise<unknown>)[] = [
      (_, by) => by.post('/logout'),
      (user) => accounts.update('user', user, { password: `${PASSWORD} again` }),
      (user) => accounts.update('user', user, { enabled: false }),
      (user) => accounts.update('user', user, { role_id: ROLE.user }),
      (user) => accounts.remove('user', user),
      (_user, _by, name) => Promise.all(Array.from({ length: SESSIONS }, () => session(name))),
    ];
    for (const [nth, end] of ways.entries()) {
      const name = `cleo${nth}`;
      const user = await accounts.addUser(name, { role_id: ROLE.admin }, PASSWORD);
      const by = await session(name);
      const visitor = await admitted(one, undefined, by);
      const statusNow = async () => (await visitor.send(one.name, '/head', PROGRAM)).status;
      expect([await statusNow(), await statusNow()]).toEqual([200, 200]);
      await end(user, by, name);
      expect([401, 404]).toContain(await statusNow());
    }
  });
  test('H730: whoever may use it because it is shared may so until its execution ends', async () => {
    const brief = await run({ share: 'users' });
    const visitor = await admitted(brief, undefined, await session('bob'));
    const closed = closeOf(await socketAt(visitor, brief.name));
    await new ApiClient(host, 'ada', PASSWORD).terminate(brief.execution);
    expect(await closed).toEqual([1001, expect.stringContaining('The execution ends')]);
    await agent.report(seen.gone(brief.assigned));
    await eventually(async () => (await visitor.send(brief.name, '/head', PROGRAM)).status === 410);
  });

  test('H743: an application at a path gets the whole path, and its cookies are for that path alone', async () => {
    const visitor = new AppVisitor(host);
    const by = await session();
    const first = await visitor.send(PATHS, `${one.prefix}/tree?x=1`);
    const attributes = `; Path=${one.prefix}/; HttpOnly; Secure; SameSite=Lax`;
    const proof = one.prefix.slice(-22);
    expect(first.headers['set-cookie']).toEqual([
      expect.stringMatching(`^__Secure-berth_visit_${proof}=[\\w-]{43}; Max-Age=3600${attributes}$`),
    ]);
    const ticket = await visitor.ticket(PATHS, by, `${one.prefix}/tree?x=1`);
    expect(ticket.startsWith(`${one.prefix}/.berth/enter?ticket=`)).toBe(true);
    const entered = await visitor.send(PATHS, ticket);
    expect([entered.status, entered.headers.location]).toEqual([303, `${one.prefix}/tree?x=1`]);
    expect(entered.headers['set-cookie']).toEqual([
      expect.stringMatching(`^__Secure-berth_app_${proof}=\\S+; Max-Age=\\d+${attributes}$`),
    ]);
    const { got, reply } = await served(() => visitor.send(PATHS, `${one.prefix}/tree?x=1`));
    expect([got.url, got.headers.host, got.headers['x-forwarded-proto'], got.headers.cookie]).toEqual([
      ...[`${one.prefix}/tree?x=1`, PATHS, 'https', undefined],
    ]);
    expect(reply.headers['set-cookie']).toEqual([...[`wide=1; Path=${one.prefix}/`, 'plain=1', 'own=1']]);
    const socket = await socketAt(visitor, PATHS, `${one.prefix}/socket`);
    const closed = closeOf(socket);
    await by.post('/logout');
    expect(await closed).toEqual([1001, expect.stringContaining('Log in again.')]);
  });
  test('H743: at that host nothing of Berth answers, and no key that is not genuine', async () => {
    const ask = async (path: string, name = PATHS) =>
      (await new AppVisitor(host).send(name, path, VISIT)).status;
    for (const path of ['/', '/login', '/.berth/enter', '/apps/open', '/healthz', `${one.prefix}x/`])
      expect(await ask(path), path).toBe(404);
    const by = await session();
    const proof = one.prefix.slice(-22);
    for (const key of [`8080-${shared.service}-${proof}`, `8081-${one.service}-${proof}`]) {
      const open = await new AppVisitor(host).begin(PATHS, `/${key}/`);
      expect([(await by.get(open)).status, open.includes(key)]).toEqual([404, true]);
    }
    expect(await ask(`${one.prefix}/`, `${PATHS}.`)).toBe(404);
    expect(await ask(`${one.prefix}/`, `${PATHS}:8443`)).toBe(404);
    expect(await ask(`${one.prefix}/`, one.name)).toBe(303);
    expect(await ask(`${one.prefix}/.berth/other`)).toBe(404);
    const bare = await new AppVisitor(host).send(PATHS, `${one.prefix}?a=1`);
    expect([bare.status, bare.headers.location]).toEqual([308, `${one.prefix}/?a=1`]);
    const worker = { ...PROGRAM, 'service-worker': 'script' };
    expect((await new AppVisitor(host).send(PATHS, `${one.prefix}/sw.js`, worker)).status).toBe(403);
  });
  test('H747: a pass counts at its own path only, and so does a ticket', async () => {
    const visitor = new AppVisitor(host);
    const by = await session();
    await visitor.send(PATHS, await visitor.ticket(PATHS, by, `${one.prefix}/`));
    const [, pass = ''] = /__Secure-berth_app_[\w-]{22}=([^;]+)/.exec(visitor.cookiesFor(PATHS)) ?? [];
    const refused = async (name: string, path: string, cookie: string) =>
      expect((await new AppVisitor(host).send(name, path, { ...PROGRAM, cookie })).status).toBe(401);
    const cookieOf = (app: Running) => `__Secure-berth_app_${app.prefix.slice(-22)}=${pass}`;
    await refused(PATHS, `${shared.prefix}/`, cookieOf(shared));
    await refused(PATHS, `${shared.prefix}/`, cookieOf(one));
    await refused(PATHS, `${one.prefix}/`, `__Host-berth_app=${pass}`);
    await refused(PATHS, `${one.prefix}/`, `${cookieOf(one)}; ${cookieOf(one)}x`);
    await refused(one.name, '/', `__Host-berth_app=${pass}`);
    const elsewhere = new AppVisitor(host);
    const ticket = await elsewhere.ticket(PATHS, by, `${one.prefix}/`);
    const moved = ticket.replace(one.prefix, shared.prefix);
    const [, secret = ''] = /berth_visit_[\w-]{22}=([^;]+)/.exec(elsewhere.cookiesFor(PATHS)) ?? [];
    const cookie = `__Secure-berth_visit_${shared.prefix.slice(-22)}=${secret}`;
    expect((await elsewhere.send(PATHS, moved, { ...VISIT, cookie })).status).toBe(400);
    const open = await elsewhere.begin(PATHS, `${one.prefix}/`);
    const away = open.replace(/next=.*$/, `next=${encodeURIComponent(`${shared.prefix}/x`)}`);
    const { pathname, search } = new URL((await by.get(away)).headers.location ?? '');
    expect((await elsewhere.send(PATHS, pathname + search)).headers.location).toBe(`${one.prefix}/`);
  });
  test('H749: a web server that gets certificates learns that the host of paths is one', async () => {
    const ask = async (domain: string) =>
      (await new HttpClient(() => host().url()).get(`/apps/ask?domain=${domain}`)).status;
    expect([await ask(PATHS), await ask(PATHS.toUpperCase()), await ask(`x.${PATHS}`)]).toEqual([
      200, 200, 404,
    ]);
  });
});
