/** Bodies of requests to applications on Node. */
import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ADMIN_SUBSCRIBER } from '../../support/apps/app-request.ts';
import { startAppServer } from '../../support/apps/app-server.ts';
import { startNodeAppRig } from '../../support/apps/node-app-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** The rig, an application, and the headers of a request to it. */
async function started(requestMs?: number) {
  const [app, rig] = [await startAppServer(), await startNodeAppRig(requestMs)];
  onTestFinished(async () => {
    await rig.close();
    await app.close();
  });
  const named = JSON.stringify({ serviceId: 1, hostId: 1, port: app.port, subscriber: ADMIN_SUBSCRIBER });
  return { app, rig, named, headers: { 'x-test-app': named } };
}

test('H719: a body may take longer than other requests, and have any number of chunks', async () => {
  const { app, rig, headers } = await started(500);
  const startMs = performance.now();
  const request = send(`${rig.url}/count`, { method: 'POST', headers });
  request.flushHeaders();
  await eventually(() => app.requests.length > 0);
  for (let n = 0; n < 20_000; n += 1) request.write('x');
  await eventually(() => performance.now() - startMs > 700);
  request.end('y');
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(await new Response(answer as never).text()).toBe('20001');
});
test('H716: a WebSocket is closed with the reason when its permit ends', async () => {
  const { app, rig, named } = await started();
  const socket = new WebSocket(`${rig.url.replace('http', 'ws')}/?app=${encodeURIComponent(named)}`);
  await once(socket, 'open');
  rig.permits[0]?.send({ ended: 'Your session has ended.' });
  const [code, reason] = await once(socket, 'close');
  expect([code, String(reason)]).toEqual([1001, 'Your session has ended.']);
  await eventually(() => app.sockets[0]?.readyState === WebSocket.CLOSED);
  expect(rig.refused).toEqual([]);
});
test('H783: an answer that breaks off is broken for the client, and leaves nothing in the log', async () => {
  const { rig, headers } = await started();
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const answer = await fetch(`${rig.url}/broken`, { headers });
  expect(answer.status).toBe(200);
  await expect(answer.text()).rejects.toThrow();
  expect((await fetch(`${rig.url}/range`, { headers: { ...headers, range: 'bytes=0-4' } })).status).toBe(206);
  expect(printed).not.toHaveBeenCalled();
});
test('H710: the characters of a header of the answer are the bytes that the application has sent', async () => {
  const { rig, headers } = await started();
  const request = send(`${rig.url}/bytes-in-header`, { headers }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(answer.headers['x-bytes']).toBe('\u00c3\u00a4');
  answer.resume();
});
