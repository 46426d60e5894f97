/**
 * Self-hosted entry (`npm start`): the app on Node, libSQL embedded or on a server, agents' sockets by ws,
 * and the local agent as a child process. Only assembles the parts.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { gzipSync } from 'node:zlib';
import { type AppDeps, createApp } from './app.ts';
import {
  ConfigError,
  connectionLimitsOf,
  firstPasswordOf,
  type NodeConfig,
  personalTokenRulesOf,
  readNodeConfig,
  secretSettingsOf,
  strictTransportOf,
} from './config.ts';
import { AppRelay } from './coordinator/apps/app-relay.ts';
import { idCode } from './coordinator/runtime/id-code.ts';
import { nodeClock } from './coordinator/runtime/node-clock.ts';
import { isConnect, serveAgents } from './coordinator/runtime/node-sockets.ts';
import { openDownload } from './coordinator/streams/download.ts';
import type { StreamSessionDeps } from './coordinator/streams/stream-session.ts';
import { AppCounts } from './core/metrics/app-counts.ts';
import { type Limit, limitFamilies } from './core/metrics/limits.ts';
import { MIB } from './core/model/bounds.ts';
import type { Directory } from './directory/ldap-directory.ts';
import { ldapConfigOf } from './directory/ldap-settings.ts';
import { forwardedAddress, peerAddress } from './http/address.ts';
import { isForApp, withAppHosts } from './http/apps/app-hosts.ts';
import { counted, HttpCounts } from './http/http-counts.ts';
import { admitAgent, refuseAgent } from './http/routes/agents.ts';
import type { MetricsSettings } from './http/routes/metrics.ts';
import { chooseVariant } from './http/variants/choose.ts';
import type { Variant } from './http/variants/variant.ts';
import { agentFiles } from './local/assets/agent-files.ts';
import { generatedFiles } from './local/assets/generated-files.ts';
import { swaggerFile } from './local/assets/swagger-files.ts';
import { startLean } from './local/lean-start.ts';
import { startLocalAgent } from './local/local-agent.ts';
import { openDatabase } from './local/open-database.ts';
import { EXAMPLE_SHOP, shopFolder } from './local/shop-folder.ts';
import { dataFolder, listenProblem } from './local/start-problems.ts';
import { logTo } from './logger.ts';
import { type NodeCoordinator, nodeCoordinator } from './node-coordinator.ts';
import { ensureAdministrator } from './operations/accounts/generated-passwords.ts';
import { appPlacesOf, appsOf, sharedSite } from './operations/apps/settings.ts';
import { makeJoinToken } from './operations/cluster/join-tokens.ts';
import { scrapeAccessOf } from './operations/cluster/metrics.ts';
import { rightsByDirectory } from './operations/sign-on/directory-rights.ts';
import { signOnOf } from './operations/sign-on/settings.ts';
import { migrateDatabase } from './prepare.ts';
import { acceptAppBy, serveApps, upgradesOf } from './server/app-sockets.ts';
import { httpServer } from './server/node-server.ts';
import { EventLoopDelay, processFamilies } from './server/process-metrics.ts';
import { acceptStream, isStream, serveStreams } from './server/stream-sockets.ts';
import { streamRulesOf } from './settings/stream-settings.ts';
import type { Db } from './store/db/db.ts';
import { groupAllReads } from './store/db/grouped-reads.ts';
import { compact } from './store/schema/compaction.ts';

type App = ReturnType<typeof createApp>;

const log = logTo((line) => process.stderr.write(`${line}\n`));
const nowMs = () => Date.now();
const print = (line: string) => process.stdout.write(`${line}\n`);

startLean();
// Buffers of streams are freed by short collections of the young generation, before V8 marks its whole heap
// because of them (STREAM-21).
setFlagsFromString('--scavenger-max-new-space-capacity-mb=1');
try {
  await start(readNodeConfig(process.env));
} catch (error) {
  process.stderr.write(`Berth can't start: ${error instanceof Error ? error.message : String(error)}\n`);
  if (!(error instanceof ConfigError) && process.env.BERTH_DEBUG)
    log('start.failed', { error: String((error as Error).stack) });
  process.exit(1);
}

async function start(config: NodeConfig): Promise<void> {
  const dataDir = dataFolder(config.BERTH_DATA_DIR);
  const { db, isUpgrade } = await openDb(config, dataDir);
  const directory = await openDirectoryOf(config);
  const coordinator = nodeCoordinator(config, { db, log, isUpgrade });
  const variant = chooseVariant(config.BERTH_API_VARIANT, config.BERTH_EXECUTION_ENDPOINTS);
  const metrics = metricsOf(config, () => connections.limits);
  const deps = appDeps(config, { dataDir, db, directory, coordinator, variant, metrics });
  const app = createApp(deps);
  const ofBerth = metrics ? counted(app, metrics.http) : app.fetch;
  const ofStreams = streamDeps(config, coordinator);
  const relay = new AppRelay(ofStreams);
  const ofApps = { acceptApp: acceptAppBy(relay), grantOf: relay.grantOf };
  const { serve, open } = holdRequests(withAppHosts({ ...deps, ...ofApps }, ofBerth));
  if (deps.apps?.sharesSite) log('apps.shared-site', sharedSite(deps.apps));
  const isApp = (request: IncomingMessage) => isForApp(deps.apps, request);
  const { server, connections } = httpServer(serve, {
    variant,
    isUpgrade: (request) => isApp(request) || isConnect(request) || isStream(request),
    isApp,
    connectionLimits: connectionLimitsOf(config),
    trustsProxy: config.BERTH_TRUST_PROXY === 'on',
    log,
  });
  const port = await listen(server, config);
  const deploymentName = config.BERTH_DEPLOYMENT_NAME;
  const upgrades = upgradesOf(server, isApp);
  const endAgents = serveAgents(upgrades.ofBerth, coordinator.agents, {
    maxUnreadBytes: config.BERTH_MAX_HOST_MESSAGES_MIB * MIB,
    admit: async (authorization) => {
      coordinator.assertAdmitting?.();
      return admitAgent({ db, deploymentName, nowMs }, authorization);
    },
    admitted: (stream) => connections.keep(stream),
    refusal: (error) => refuseAgent(error, (cause) => log('connection.failed', { error: String(cause) })),
  });
  const keep = (stream: Duplex) => connections.keep(stream);
  const endStreams = serveStreams(upgrades.ofBerth, serve, ofStreams, keep);
  const endApps = serveApps(upgrades.ofApps, serve, keep);
  // Not before the server listens: a start that fails would take the only copy of the password with it.
  const { superuserKeepsExecutions } = variant;
  const first = { ...firstPasswordOf(config), superuserKeepsExecutions };
  const password = await ensureAdministrator(db, first, nowMs());
  if (password) print(`First start: the administrator is admin, the password ${password} (shown only now).`);
  open();
  coordinator.begin();
  const url = `http://${config.BERTH_HOST.includes(':') ? `[${config.BERTH_HOST}]` : config.BERTH_HOST}:${port}`;
  print(`Berth listens on ${url} (deployment ${deploymentName}).`);

  const end = endOnce(async () => {
    coordinator.endEvents();
    const served = closeServer(server);
    await agent?.stop();
    endStreams();
    endApps();
    endAgents();
    await served;
    coordinator.stop();
    directory?.close();
    await db.close();
  });
  const joinToken = async () => (await makeJoinToken(db, nowMs())).token;
  const local = { url, dataDir, deploymentName, joinToken, unable: () => end(1) };
  const agent = config.BERTH_LOCAL_AGENT === 'on' ? startLocalAgent(local) : undefined;
  process.on('SIGTERM', () => end(0));
  process.on('SIGINT', () => end(0));
}

/** Opens the database, with the present schema. `isUpgrade`: this program has changed the schema. */
async function openDb(config: NodeConfig, dataDir: string): Promise<{ db: Db; isUpgrade: boolean }> {
  const url = config.BERTH_DATABASE_URL ?? `file:${join(dataDir, 'berth.db')}`;
  const db = groupAllReads(await openDatabase(url, config.BERTH_DATABASE_TOKEN));
  const isUpgrade = await migrateDatabase(db, log);
  const compaction = await compact(db);
  if (compaction) log('database.compaction', { ...compaction });
  return { db, isUpgrade };
}

/** Its library is loaded only if there is a directory. */
async function openDirectoryOf(config: NodeConfig): Promise<Directory | undefined> {
  const settings = ldapConfigOf(config);
  if (!settings) return undefined;
  const { openDirectory } = await import('./directory/ldap-directory.ts');
  try {
    return await openDirectory(settings, log);
  } catch (error) {
    throw new ConfigError(`BERTH_LDAP_CA: the file can not be read: ${String(error)}`);
  }
}

function appDeps(
  config: NodeConfig,
  parts: {
    dataDir: string;
    db: Db;
    directory: Directory | undefined;
    coordinator: NodeCoordinator;
    variant: Variant;
    metrics: MetricsSettings | undefined;
  },
): AppDeps {
  const { dataDir, db, directory, coordinator, variant, metrics } = parts;
  const behindProxy = config.BERTH_TRUST_PROXY === 'on';
  return {
    db,
    log,
    coordinator: coordinator.api,
    assertActive: coordinator.assertActive,
    deploymentName: config.BERTH_DEPLOYMENT_NAME,
    publicUrl: config.BERTH_PUBLIC_URL,
    minPasswordLength: config.BERTH_MIN_PASSWORD_LENGTH,
    nowMs,
    addressOf: behindProxy ? forwardedAddress : peerAddress,
    maxWaitingLogins: config.BERTH_MAX_WAITING_LOGINS,
    directory,
    rightsOf:
      directory &&
      config.BERTH_LDAP_GROUPS &&
      rightsByDirectory({ db, coordinator: coordinator.api }, directory, config.BERTH_LDAP_GROUPS),
    withoutDirectory: ({ id }) =>
      log('directory.missing', { userId: id, reason: 'BERTH_LDAP_URL is not set' }),
    bodyMemoryBytes: config.BERTH_MAX_BODY_MEMORY_MIB * MIB,
    maxSessionsPerUser: config.BERTH_MAX_SESSIONS_PER_USER,
    personalTokenRules: personalTokenRulesOf(config),
    signOn: signOnOf(config),
    appPlaces: appPlacesOf(config, idCode.appProofOf),
    ...secretSettingsOf(config),
    variant,
    acceptStream,
    apps: appsOf(config),
    download: (one) => openDownload(one, streamDeps(config, coordinator)),
    swaggerFile,
    agentFile: agentFiles(dataDir, config.BERTH_AGENT_RELEASE),
    shopFiles: shopFolder(resolve(config.BERTH_SHOP ?? EXAMPLE_SHOP)),
    webFile: generatedFiles('make-web-files.ts', join(dataDir, 'web-files')),
    gzip: (bytes) => gzipSync(bytes),
    metrics,
    strictTransport: strictTransportOf(config, { httpsItself: false, behindProxy }),
  };
}

function streamDeps(config: NodeConfig, { api, agents }: NodeCoordinator): StreamSessionDeps {
  return {
    clock: nodeClock(() => {}),
    rules: streamRulesOf(config),
    permit: (...args) => api.permitStream(...args),
    left: (id) => api.leaveStream(id),
    streamsAt: async ({ hostId }) => agents.session(hostId)?.peer.streams,
  };
}

/** Undefined if nobody may read them. */
function metricsOf(config: NodeConfig, connections: () => Limit[]): MetricsSettings | undefined {
  const access = scrapeAccessOf(config);
  if (!access) return undefined;
  const delay = new EventLoopDelay();
  const ofProcess = () => [...limitFamilies(connections()), delay.family(), ...processFamilies()];
  const counts = { http: new HttpCounts(), apps: appsOf(config) ? new AppCounts() : undefined };
  return { access, maxHosts: config.BERTH_METRICS_HOSTS, ...counts, process: ofProcess };
}

/** Requests wait until `open`: the coordinator must not read the users before there is an administrator. */
function holdRequests(fetch: App['fetch']): { serve: App['fetch']; open: () => void } {
  const opened = Promise.withResolvers<void>();
  let isOpen = false;
  return {
    serve: (...request) => (isOpen ? fetch(...request) : opened.promise.then(() => fetch(...request))),
    open: () => {
      isOpen = true;
      opened.resolve();
    },
  };
}

/** Resolves to the port. */
function listen(server: Server, { BERTH_HOST, BERTH_PORT }: NodeConfig): Promise<number> {
  return new Promise((done, fail) => {
    server.once('error', (error) => fail(listenProblem(error, BERTH_HOST, BERTH_PORT)));
    server.listen(BERTH_PORT, BERTH_HOST, () => done((server.address() as AddressInfo).port));
  });
}

/** Accepts no new connections and gives running requests 2 s; longer streams are cut. */
function closeServer(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    // Also closes connections that become idle meanwhile, which would wait for a next request.
    setInterval(() => server.closeIdleConnections(), 50).unref();
    setTimeout(() => server.closeAllConnections(), 2_000).unref();
  });
}

/** Ends cleanly at the first call, and at once at the second. Containers keep running. */
function endOnce(end: () => Promise<void>): (code: number) => void {
  let ending = false;
  return (code) => {
    if (ending) process.exit(1);
    ending = true;
    void end().then(
      () => process.exit(code),
      (error) => {
        log('stop.failed', { error: String(error) });
        process.exit(1);
      },
    );
  };
}
