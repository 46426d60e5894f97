/**
 * Cloudflare entry: the app on workerd, with the coordinator in a Durable Object and libSQL over HTTP. Only
 * assembles the parts.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { CONNECT_PATH } from '../shared/protocol/enrolment.ts';
import { unknownIn } from '../shared/settings/setting-names.ts';
import { WindowMemory } from '../shared/streams/window.ts';
import { type AppDeps, createApp } from './app.ts';
import { type Assembly, assemble } from './assembly.ts';
import { personalTokenRulesOf, secretSettingsOf, strictTransportOf } from './config.ts';
import { WINDOW_BYTES_OF_OBJECT } from './coordinator/connections/open-channels.ts';
import { gatewayOf } from './coordinator/gateways/gateway-of.ts';
import { forwardApp } from './coordinator/runtime/apps/gateway-apps.ts';
import { dialling } from './coordinator/runtime/channel-sockets.ts';
import { forwardUpgrade } from './coordinator/runtime/forward-upgrade.ts';
import { gatewayChannels, gatewayLogs } from './coordinator/runtime/gateway-channels.ts';
import { forwardStream } from './coordinator/runtime/gateway-streams.ts';
import { idCode } from './coordinator/runtime/id-code.ts';
import { objectClock } from './coordinator/runtime/object-clock.ts';
import { coordinatorStub, gatewayStub } from './coordinator/runtime/object-stubs.ts';
import { diallingPlacements } from './coordinator/runtime/placement-sockets.ts';
import { coordinatorClient } from './coordinator/runtime/remote-call.ts';
import { openDownload } from './coordinator/streams/download.ts';
import { remotePlacements } from './coordinator/streams/remote-placement.ts';
import { serviceLogs } from './coordinator/streams/service-logs.ts';
import type { StreamSessionDeps } from './coordinator/streams/stream-session.ts';
import type { VerifiedProof } from './core/hosts/registration.ts';
import { AppCounts } from './core/metrics/app-counts.ts';
import { cloudflareAddress } from './guard/address.ts';
import type { AcceptApp } from './http/apps/accept-app.ts';
import { isForApp } from './http/apps/app-hosts.ts';
import { HttpCounts } from './http/http-counts.ts';
import { toOperationError } from './http/json/render.ts';
import { admitAgent, refuseAgent } from './http/routes/agents.ts';
import { chooseVariant, containerExtrasOf } from './http/variants/choose.ts';
import { appPlacesOf, appsOf, sharedSite } from './operations/apps/settings.ts';
import { HostKeys } from './operations/cluster/agent-proof.ts';
import { scrapeAccessOf } from './operations/cluster/metrics.ts';
import { packedShop, SHOP_PACK } from './operations/shop/shop-files.ts';
import { signOnOf } from './operations/sign-on/settings.ts';
import type { Db } from './store/db/db.ts';
import { groupReads, ReadGroup } from './store/db/grouped-reads.ts';

export { CoordinatorObject } from './coordinator/runtime/durable-object.ts';
export { GatewayObject } from './coordinator/runtime/gateway-object.ts';

interface WorkerEnv extends Record<string, unknown> {
  /** The files that local/assets/make-worker-assets.ts builds. */
  ASSETS: Fetcher;
}

interface Isolate extends Assembly, Pick<RequestReads, 'serve'> {
  fetch: ReturnType<typeof createApp>['fetch'];
  /** Whether the host of a request is that of an application. */
  isForApp: (request: Request) => boolean;
}

let isolate: Isolate | undefined;
const hostKeys = new HostKeys();

export default {
  async fetch(request: Request, env: WorkerEnv, ctx: ExecutionContext): Promise<Response> {
    isolate ??= assembleIsolate(env);
    const { fetch, serve, isForApp } = isolate;
    if (new URL(request.url).pathname === CONNECT_PATH && !isForApp(request))
      return connectAgent(request, env, isolate);
    const response = serve(() => fetch(request, env, ctx));
    // Completes even if the client leaves: a login that is cut off would keep its place in the concurrency
    // limit.
    ctx.waitUntil(Promise.resolve(response));
    return response;
  },
};

/** Authenticates the agent here, so that only registered agents reach the coordinator. */
async function connectAgent(request: Request, env: WorkerEnv, isolate: Isolate): Promise<Response> {
  const { config, db, prepare, log } = isolate;
  try {
    await prepare();
    const isUpgrade = request.headers.get('upgrade') === 'websocket';
    const deps = { db, deploymentName: config.BERTH_DEPLOYMENT_NAME, nowMs: () => Date.now() };
    const admit = () =>
      admitAgent({ ...deps, ...(isUpgrade && { keys: hostKeys }) }, request.headers.get('authorization'));
    const forward = (proof: VerifiedProof) =>
      forwardUpgrade(
        gatewayStub(env, gatewayOf(proof.hostId, config.BERTH_LIMITS.hostsPerGateway)),
        request,
        {
          ...proof,
          address: request.headers.get('cf-connecting-ip') ?? undefined,
        },
      );
    const proof = await admit();
    if (!isUpgrade) return new Response(null, { status: 426 });
    try {
      return await forward(proof);
    } catch (error) {
      if (proof.rememberedKey === undefined || toOperationError(error)?.code !== 'unknown-host') throw error;
    }
    // The coordinator can't confirm the remembered key, so the database decides.
    hostKeys.forget(proof.hostId);
    return await forward(await admit());
  } catch (error) {
    return refuseAgent(error, (cause) => log('connection.failed', { error: String(cause) }));
  }
}

function assembleIsolate(env: WorkerEnv): Isolate {
  const assembly = assemble(env);
  const { config, log, prepare } = assembly;
  const { db, serve } = groupReadsOfRequests(assembly.db);
  // A stub belongs to its request, so each call takes a new one.
  const coordinator = coordinatorClient(() => coordinatorStub(env));
  const placements = remotePlacements(diallingPlacements(() => coordinatorStub(env)));
  const gatewayFor = ({ hostId }: { hostId: number }) =>
    gatewayStub(env, gatewayOf(hostId, config.BERTH_LIMITS.hostsPerGateway));
  const dial = dialling((gateway) => gatewayStub(env, gateway));
  const memory = new WindowMemory(WINDOW_BYTES_OF_OBJECT);
  const streamDeps: StreamSessionDeps = {
    clock: objectClock,
    rules: assembly.scheduling.streams,
    ...placements,
    channelsAt: async (at) => gatewayChannels(dial, memory, at),
  };
  const access = scrapeAccessOf(config);
  const http = new HttpCounts();
  const apps = appsOf(config);
  for (const unknown of unknownIn(env)) log('setting.unknown', { ...unknown });
  if (apps?.sharesSite) log('apps.shared-site', sharedSite(apps));
  const acceptApp: AcceptApp = (c, request, isKnown) =>
    forwardApp(gatewayFor(request), request, c.req.raw, isKnown);
  const deps: AppDeps = {
    db,
    log,
    prepare,
    deploymentName: config.BERTH_DEPLOYMENT_NAME,
    publicUrl: config.BERTH_PUBLIC_URL,
    minPasswordLength: config.BERTH_LIMITS.minPasswordLength,
    defaultMemoryBytes: assembly.scheduling.defaultMemoryBytes,
    coordinator,
    openLog: serviceLogs({ ...placements, logsAt: gatewayLogs(dial, memory) }),
    acceptStream: (_, request) => forwardStream(gatewayFor(request), request),
    apps: apps && { ...apps, acceptApp },
    download: (one) => openDownload(one, streamDeps),
    nowMs: () => Date.now(),
    addressOf: cloudflareAddress,
    maxWaitingLogins: config.BERTH_LIMITS.waitingLogins,
    withoutDirectory: ({ id }) =>
      log('directory.missing', { userId: id, reason: 'a Worker can not verify passwords at a directory' }),
    bodyMemoryBytes: config.BERTH_LIMITS.bodyMemoryBytes,
    maxSessionsPerUser: config.BERTH_LIMITS.sessionsPerUser,
    personalTokenRules: personalTokenRulesOf(config),
    signOn: signOnOf(config),
    appPlaces: appPlacesOf(config, idCode.appProofOf),
    containerExtras: containerExtrasOf(config),
    ...secretSettingsOf(config),
    variant: chooseVariant(config.BERTH_API_VARIANT),
    swaggerFile: (name) => readAsset(env, name),
    agentFile: (name) => readAsset(env, name),
    shopFiles: packedShop(async () => JSON.parse(new TextDecoder().decode(await readAsset(env, SHOP_PACK)))),
    guideFile: (name) => readAsset(env, `docs/${name}`),
    webFile: (name) => readAsset(env, `web/${name}`),
    metrics: access && {
      access,
      maxHosts: config.BERTH_LIMITS.metricsHosts,
      http,
      apps: apps && new AppCounts(),
    },
    strictTransport: strictTransportOf(config, { httpsItself: true, behindProxy: false }),
  };
  return {
    ...assembly,
    fetch: createApp(deps).fetch,
    isForApp: ({ url, headers }) => isForApp(apps, { url, headers: { host: headers.get('host') ?? '' } }),
    serve,
  };
}

async function readAsset({ ASSETS }: WorkerEnv, name: string): Promise<ArrayBuffer> {
  const response = await ASSETS.fetch(`https://assets/${name}`);
  if (response.ok) return response.arrayBuffer();
  const code = response.status === 404 ? 'ENOENT' : undefined;
  throw Object.assign(new Error(`the asset ${name} can't be read: ${response.status}`), { code });
}

interface RequestReads {
  /** Reads outside of `serve` run at once. */
  db: Db;
  /** Runs `answer` with a group of its own for the reads of its request. */
  serve<T>(answer: () => T): T;
}

/** Groups the small reads of each request, since on workerd no request may wait for the I/O of another. */
function groupReadsOfRequests(db: Db): RequestReads {
  const current = new AsyncLocalStorage<ReadGroup>();
  const afterTurn = (run: () => void) => {
    setTimeout(run, 0);
  };
  return {
    db: groupReads(db, () => current.getStore()),
    serve: (answer) => current.run(new ReadGroup(db, afterTurn), answer),
  };
}
