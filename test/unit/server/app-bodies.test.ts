/** Bodies of requests to applications on Node. */
import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { ADMIN_SUBSCRIBER } from '../../support/apps/app-request.ts';
import { startAppServer } from '../../support/apps/app-server.ts';
import { startNodeAppRig } from '../../support/apps/node-app-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

test('H719: a body may take longer than other requests, and have any number of chunks', async () => {
  const [app, rig] = [await startAppServer(), await startNodeAppRig(500)];
  try {
    const named = { serviceId: 1, hostId: 1, port: app.port, subscriber: ADMIN_SUBSCRIBER };
    const headers = { 'x-test-app': JSON.stringify(named) };
    const startMs = performance.now();
    const request = send(`${rig.url}/count`, { method: 'POST', headers });
    request.flushHeaders();
    await eventually(() => app.requests.length > 0);
    for (let n = 0; n < 20_000; n += 1) request.write('x');
    await eventually(() => performance.now() - startMs > 700);
    request.end('y');
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    expect(await new Response(answer as never).text()).toBe('20001');
  } finally {
    await rig.close();
    await app.close();
  }
});
test('H716: a WebSocket is closed with the reason when its permit ends', async () => {
  const [app, rig] = [await startAppServer(), await startNodeAppRig()];
  try {
    const named = JSON.stringify({ serviceId: 1, hostId: 1, port: app.port, subscriber: ADMIN_SUBSCRIBER });
    const socket = new WebSocket(`${rig.url.replace('http', 'ws')}/?app=${encodeURIComponent(named)}`);
    await once(socket, 'open');
    rig.permits[0]?.send({ ended: 'Your session has ended.' });
    const [code, reason] = await once(socket, 'close');
    expect([code, String(reason)]).toEqual([1001, 'Your session has ended.']);
    await eventually(() => app.sockets[0]?.readyState === WebSocket.CLOSED);
    expect(rig.refused).toEqual([]);
  } finally {
    await rig.close();
    await app.close();
  }
});
