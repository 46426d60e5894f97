/**
 * The relay on Node from the client's socket to the application: a real server, and the real streams of an
 * agent. A test gives the permits.
 */
import { once } from 'node:events';
import { Hono } from 'hono';
import { Channels } from '../../../agent/channels/channels.ts';
import { portTargets } from '../../../agent/engine/streams/container-targets.ts';
import { AppRelay } from '../../../control-plane/coordinator/apps/app-relay.ts';
import { OpenChannels } from '../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { nodeClock } from '../../../control-plane/coordinator/runtime/node-clock.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { defaultStreamRules } from '../../../control-plane/core/model/stream-rules.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { acceptAppBy, serveApps, upgradesOf } from '../../../control-plane/server/app-sockets.ts';
import { httpServer } from '../../../control-plane/server/node-server.ts';
import { decodeChunk } from '../../../shared/protocol/codec.ts';
import type { ChannelDown } from '../../../shared/protocol/down.ts';
import { WIDE_LIMITS } from '../fixtures/connection-limits.ts';
import { listenOn } from '../hosts/port.ts';
import { PLACED, ScriptedPlacement } from '../rigs/scripted-placement.ts';
import { appRequest } from './app-request.ts';

/** `requestMs`: how long a request may take that is not for an application. */
export async function startNodeAppRig(requestMs = 600_000) {
  /** What the agent did that is not allowed. */
  const refused: string[] = [];
  const streams = new OpenChannels({
    traffic: noTraffic(),
    sendText: (message) => agent.receive(message as ChannelDown),
    sendBytes: (frame) => {
      if (!agent.chunk(decodeChunk(frame))) refused.push('the control plane exceeds its credit');
    },
    refused: (what) => refused.push(what),
  });
  const toPort = portTargets();
  const agent = new Channels({
    output: {} as never,
    open: async (_, target) => {
      if (!('port' in target)) throw new Error(target.kind);
      return toPort({ id: 'one', ipAddress: '127.0.0.1' }, target);
    },
    send: (message) => streams.receive(message),
    sendBytes: async (frame) => streams.chunk(decodeChunk(frame)),
  });
  const permits: ScriptedPlacement[] = [];
  const relay = new AppRelay({
    clock: nodeClock(() => {}),
    rules: defaultStreamRules,
    place: async () => {
      const permit = new ScriptedPlacement(PLACED);
      permits.push(permit);
      return permit;
    },
    channelsAt: async () => streams,
  });
  const app = new Hono();
  const accept = acceptAppBy(relay);
  app.all('*', async (c) => {
    const relayed = await accept(c, appRequest(c.req.raw), false);
    return relayed?.respond(relayed.headers) ?? c.text('no permit is alive', 500);
  });
  app.onError((error) => {
    if (!(error instanceof OperationError)) return new Response(String(error.stack), { status: 500 });
    const retry = error.retryAfterS === undefined ? undefined : { 'retry-after': String(error.retryAfterS) };
    return new Response(error.message, {
      status: error.code === 'unavailable' ? 503 : 400,
      ...(retry && { headers: retry }),
    });
  });
  const isApp = () => true;
  const { server } = httpServer(app.fetch, {
    ...{ variant: variants.B, isUpgrade: isApp, isApp, connectionLimits: WIDE_LIMITS },
    ...{ trustsProxy: false, log: () => {} },
    limits: {
      ...{
        headMs: requestMs,
        requestMs,
        checkMs: 20,
        quietMs: 60_000,
        bodyGraceMs: 600_000,
        reportMs: 600_000,
        stallMs: 60_000,
      },
    },
  });
  const endApps = serveApps(
    upgradesOf(server, isApp).ofApps,
    app.fetch,
    nodeClock(() => {}),
    () => {},
  );
  return {
    url: `http://127.0.0.1:${await listenOn(server)}`,
    permits,
    refused,
    async close() {
      endApps();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
