/**
 * Requests and WebSockets to web applications: from a client's socket to a real application, on both hosts.
 */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { ADMIN_SUBSCRIBER } from '../../support/apps/app-request.ts';
import { type AppServer, startAppServer } from '../../support/apps/app-server.ts';
import { startNodeAppRig } from '../../support/apps/node-app-rig.ts';
import { startWorkerdAppRig } from '../../support/apps/workerd-app-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

interface Rig {
  url: string;
  service: { serviceId: number; hostId: number };
  close(): Promise<void>;
}

const starts: Record<string, () => Promise<Rig>> = {
  /** The application alone. */
  bare: async () => ({ url: '', service: { serviceId: 1, hostId: 1 }, close: async () => {} }),
  node: async () => ({ ...(await startNodeAppRig()), service: { serviceId: 1, hostId: 1 } }),
  workerd: startWorkerdAppRig,
};

const MIB = 2 ** 20;

describe.each(Object.keys(starts))('%s', (kind) => {
  let rig: Rig;
  let app: AppServer;
  beforeAll(async () => {
    const start = starts[kind];
    if (!start) throw new Error(kind);
    rig = await start();
  });
  afterAll(() => rig?.close());
  beforeEach(async () => {
    app = await startAppServer();
  });
  afterEach(() => app.close());

  const named = (port = app.port) => JSON.stringify({ ...rig.service, port, subscriber: ADMIN_SUBSCRIBER });
  const get = (path: string, init: RequestInit = {}, port?: number) =>
    fetch(rig.url + path, {
      redirect: 'manual',
      ...init,
      headers: { ...(init.headers as Record<string, string>), 'x-test-app': named(port) },
    });
  /** A request whose body the test writes. */
  const begin = (path: string, headers: Record<string, string> = {}): ClientRequest =>
    send(rig.url + path, { method: 'POST', headers: { 'x-test-app': named(), ...headers } }).on(
      'error',
      () => {},
    );
  const answerTo = async (request: ClientRequest) => (await once(request, 'response'))[0] as IncomingMessage;
  const open = async (path: string, protocols: string[] = [], options: object = {}) => {
    const base = rig.url || `http://127.0.0.1:${app.port}`;
    const query = rig.url && `?app=${encodeURIComponent(named())}`;
    const url = `${base.replace('http', 'ws')}${path}${query}`;
    const socket = new WebSocket(url, protocols, options);
    await once(socket, 'open');
    return socket;
  };

  test('H713: a WebSocket has the protocol that the application chose, and messages of all sizes both ways', async () => {
    const socket = await open('/', ['other', 'chosen']);
    expect(socket.protocol).toBe('chosen');
    for (const message of ['', 'text \u00e4', 'x'.repeat(3 * MIB), Buffer.alloc(100_000, 7)]) {
      socket.send(message);
      const [data, isBinary] = await once(socket, 'message');
      expect(isBinary).toBe(typeof message !== 'string');
      expect(Buffer.from(data).equals(Buffer.from(message))).toBe(true);
    }
    socket.close(4321, 'done \u00e4');
    const [code, reason] = await once(app.sockets[0] as WebSocket, 'close');
    expect([code, String(reason)]).toEqual([4321, 'done \u00e4']);
  });
  test('H713: pings, fragments and both closes pass as between the client and the application alone', async () => {
    const socket = await open('/');
    const peer = app.sockets[0] as WebSocket;
    for (const [one, other] of [
      [socket, peer],
      [peer, socket],
    ] as const) {
      one.ping('alive?');
      expect(String((await once(one, 'pong'))[0])).toBe('alive?');
      for (const [part, fin] of [
        ['in ', false],
        ['two', true],
      ] as const)
        one.send(part, { fin });
      expect(String((await once(other, 'message'))[0])).toBe('in two');
    }
    peer.close(4000, 'enough');
    const [code, reason] = await once(socket, 'close');
    expect([code, String(reason)]).toEqual([4000, 'enough']);
    const other = await open('/mute');
    (app.sockets[1] as WebSocket).close();
    expect((await once(other, 'close'))[0]).toBe(1005);
  });
  test('H713: what differs from a connection to the application alone is the compression, and how its loss is told', async () => {
    const socket = await open('/');
    const closed = once(socket, 'close');
    app.sockets[0]?.terminate();
    // The runtime of Cloudflare compresses towards the browser by itself.
    expect([socket.extensions, (await closed)[0]]).toEqual([
      kind === 'node' ? '' : 'permessage-deflate',
      kind === 'bare' ? 1006 : 1001,
    ]);
  });
  test('H713: an application refuses a WebSocket by an answer, and by choosing none of the protocols', async () => {
    const refused = await open('/refused').catch((error) => error.message);
    expect(refused).toBe('Unexpected server response: 403');
    await expect(open('/', ['unknown'])).rejects.toThrow();
  });
  // What follows is about Berth, and not about WebSockets.
  if (kind === 'bare') return;

  test('H710: a request arrives as it was authorised, and the answer comes back without headers of one connection', async () => {
    const answer = await get('/head?a=%20b&c', {
      method: 'PUT',
      body: 'x',
      headers: { 'X-Own': 'v\u00c3\u00a4lue' },
    });
    const seen = JSON.parse(await answer.text());
    expect(seen).toMatchObject({ method: 'PUT', url: '/head?a=%20b&c' });
    expect(seen.headers).toEqual(
      expect.arrayContaining(['x-own', 'v\u00c3\u00a4lue', 'content-length', '1']),
    );
    const moved = await get('/status?n=302');
    expect(moved.status).toBe(302);
    expect(Object.fromEntries(moved.headers)).toMatchObject({
      location: '/elsewhere',
      'content-encoding': 'gzip',
    });
    expect(moved.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    for (const name of ['x-hop', 'proxy-authenticate']) expect(moved.headers.has(name)).toBe(false);
  });
  test('H710: bodies stream both ways at once, and each may begin before the other has ended', async () => {
    const request = begin('/echo');
    request.write('one');
    const answer = await answerTo(request);
    const chunks = answer[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe('one');
    request.write('two');
    expect(String((await chunks.next()).value)).toBe('two');
    request.end();
    expect((await chunks.next()).done).toBe(true);
  });
  test('H710: an event stream is not held back', async () => {
    const answer = get('/events');
    const held = await eventually(() => app.held[0]);
    held?.writeHead(200, { 'content-type': 'text/event-stream' });
    held?.write('data: 1\n\n');
    const reader = (await answer).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
    held?.write('data: 2\n\n');
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 2\n\n');
    await reader?.cancel();
    await eventually(() => {
      // workerd notices a client that has gone when it writes.
      held?.write('data: 3\n\n');
      return app.aborted.includes('/events');
    });
  });
  test('H710: HEAD, ranges, answers without a body and of unknown length are as the application gives them', async () => {
    const head = await get('/bytes?n=12345', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '12345', '']);
    const range = await get('/range', { headers: { range: 'bytes=1-4' } });
    expect([range.status, await range.text()]).toEqual([206, 'erth']);
    expect(range.headers.get('content-range')).toBe('bytes 1-4/65536');
    for (const status of [204, 304]) {
      const empty = await get(`/status?n=${status}`);
      expect([empty.status, await empty.text()]).toEqual([status, '']);
    }
    const sized = await get('/bytes?n=300000');
    expect(sized.headers.get('content-length')).toBe('300000');
    expect((await sized.arrayBuffer()).byteLength).toBe(300_000);
    expect((await (await get('/chunked?n=3000000')).arrayBuffer()).byteLength).toBe(3_000_000);
  });
  test('H710: what nobody reads stays at the application, in both directions', async () => {
    const request = begin('/hold');
    let written = 0;
    const block = Buffer.alloc(MIB);
    while (written < 64 * MIB && request.write(block)) written += MIB;
    const held = await eventually(() => app.requests[0]);
    held?.pause();
    for (let n = 0; n < 64; n += 1) request.write(block);
    await eventually(() => expect(held?.socket.bytesRead).toBeGreaterThan(0));
    await eventually(() => expect(request.writableLength).toBeGreaterThan(32 * MIB));
    request.destroy();
    held?.resume();
    await eventually(() => expect(app.aborted).toEqual(['/hold']));
    const answer = await get(`/bytes?n=${256 * MIB}`);
    const socket = await eventually(() => app.requests[1]?.socket);
    await eventually(() => expect(socket?.writableLength).toBeGreaterThan(0));
    expect(socket?.bytesWritten).toBeLessThan(32 * MIB);
    await answer.body?.cancel();
    await eventually(() => expect(app.aborted).toEqual(['/hold', '/bytes']));
  });
  test('H711: a client that goes ends its request, before the answer and within it', async () => {
    const request = begin('/waits');
    request.end();
    await eventually(() => app.held[0]);
    // workerd does not notice that a client merely sends no more.
    request.socket?.resetAndDestroy();
    await eventually(() => expect(app.aborted).toEqual(['/waits']));
  });
  test('H711: an answer that breaks off is not taken for a whole one', async () => {
    await expect(get('/broken').then((answer) => answer.text())).rejects.toThrow();
  });
  test('H711: an application may answer before it has read the body, and the rest is given up', async () => {
    const request = begin('/early', { 'content-length': String(64 * MIB) });
    request.on('error', () => {});
    request.write(Buffer.alloc(64 * MIB));
    const answer = await answerTo(request);
    expect(answer.statusCode).toBe(413);
    const text = await new Response(answer as never).text().catch(() => 'too large');
    expect(text).toBe('too large');
    request.destroy();
    expect((await get('/head')).status).toBe(200);
  });
  test('H712: a port where nothing listens, or nothing that speaks HTTP, is named', async () => {
    const { port } = app;
    await app.close();
    const refused = await get('/', {}, port);
    expect([refused.status, await refused.text()]).toEqual([
      503,
      `port ${port}: nothing listens there, or not on all addresses of the container`,
    ]);
    app = await startAppServer();
  });
  test('H782: only a GET becomes a WebSocket', async () => {
    const handshake = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'content-length': '4' },
      ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'eHh4eHh4eHh4eHh4eHh4eA==' },
    };
    const request = begin('/', handshake);
    request.end('body');
    const answer = await answerTo(request);
    expect([answer.statusCode, app.requests]).toEqual([400, []]);
    answer.resume();
  });
});
