/** A file of a service, whose content comes from the gateway of its host to a reader in another object. */
import { beforeEach, expect, test } from 'vitest';
import { gatewayChannels } from '../../../../control-plane/coordinator/runtime/gateway-channels.ts';
import { openDownload } from '../../../../control-plane/coordinator/streams/download.ts';
import { MARK_MS } from '../../../../control-plane/coordinator/streams/stream-relay.ts';
import { defaultStreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { CHUNK_BYTES, WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { HOST_ID, owner } from '../../../support/rigs/coordinator-rig.ts';
import { type GatewayAgent, GatewayRig } from '../../../support/rigs/gateway-rig.ts';

let rig: GatewayRig;
let agent: GatewayAgent;
let channel: number;
let download: Promise<ReadableStream<Uint8Array>>;

beforeEach(async () => {
  rig = await GatewayRig.open();
  const running = await rig.runs();
  agent = running.agent;
  const subscriber = { ...owner, use: { kind: 'exec-service' } } as const;
  const place = { serviceId: running.assignment.service, hostId: HOST_ID };
  download = openDownload(
    {
      request: { purpose: 'files', ...place, subscriber, doer: ADMIN_DOER },
      target: { path: '/a', form: 'file' },
    },
    {
      ...{ clock: rig.rig.clock, rules: defaultStreamRules, ...rig.placements },
      channelsAt: async (at) => gatewayChannels(rig.dial, rig.memory, at),
    },
  );
  download.catch(() => {});
  ({ channel } = await agent.received('channel.open'));
});

const opened = () => agent.sendMessage({ type: 'channel.opened', channel, credit: 1 });
const sends = (text: string) => agent.chunk(channel, Buffer.from(text));
const ends = () => agent.sendMessage({ type: 'channel.end', channel, exitCode: 0 });

test.each(['content', ''])('H706: a file comes from the gateway, here with "%s"', async (content) => {
  opened();
  if (content) sends(content);
  ends();
  expect(await new Response(await download).text()).toBe(content);
});

test.each([
  [
    'the host refuses it',
    () => agent.sendMessage({ type: 'channel.reset', channel, refused: true, message: 'no such file' }),
    'no such file',
  ],
  ['its host loses the connection', () => agent.connection.closed(), 'lost its connection'],
])('H706: there is no file, but the reason, if %s', async (_, act, reason) => {
  act();
  await expect(download).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(reason),
  });
});

test('H706: a file that breaks off has no proper end', async () => {
  opened();
  sends('half');
  const content = new Response(await download).text();
  agent.connection.closed();
  await expect(content).rejects.toThrow('lost its connection');
});

test('H706, P174: a file is sent no faster than it is read, and no further once its reader has left', async () => {
  opened();
  for (let sent = 0; sent < WINDOW_BYTES; sent += CHUNK_BYTES) sends('x'.repeat(CHUNK_BYTES));
  const reader = (await download).getReader();
  expect(agent.socket.all('channel.credit')).toEqual([]);
  for (let read = 0; read < WINDOW_BYTES; ) read += (await reader.read()).value?.length ?? WINDOW_BYTES;
  void reader.read();
  await agent.received('channel.credit');
  await reader.cancel();
  expect(await agent.received('channel.reset')).toEqual({ type: 'channel.reset', channel });
  expect(agent.socket.closeCode).toBeUndefined();
});

test('H706: a file that is refused before its first byte is not there, even if marks came first', async () => {
  opened();
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
  rig.rig.clock.pass(MARK_MS);
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
  agent.sendMessage({ type: 'channel.reset', channel, refused: false, message: 'no such file' });
  await expect(download).rejects.toMatchObject({ code: 'conflict', message: 'no such file' });
});
