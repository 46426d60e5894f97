/**
 * A self-hosted control plane: the app on Node, libSQL embedded or on a server, and agents' sockets by ws.
 * Only assembles the parts. Several may run in one process.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { type AppDeps, createApp } from './app.ts';
import {
  ConfigError,
  connectionLimitsOf,
  firstPasswordOf,
  personalTokenRulesOf,
  schedulerConfigOf,
  secretSettingsOf,
  strictTransportOf,
} from './config.ts';
import { AppRelay } from './coordinator/apps/app-relay.ts';
import type { Logger } from './coordinator/ports.ts';
import { idCode } from './coordinator/runtime/id-code.ts';
import { nodeClock } from './coordinator/runtime/node-clock.ts';
import { isConnect, serveAgents } from './coordinator/runtime/node-sockets.ts';
import { openDownload } from './coordinator/streams/download.ts';
import { ownChannels, ownLogs, serviceLogs } from './coordinator/streams/service-logs.ts';
import type { StreamSessionDeps } from './coordinator/streams/stream-session.ts';
import { AppCounts } from './core/metrics/app-counts.ts';
import { type Limit, limitFamilies } from './core/metrics/limits.ts';
import { streamRulesOf } from './core/model/stream-rules.ts';
import type { Directory } from './directory/ldap-directory.ts';
import { ldapConfigOf } from './directory/ldap-settings.ts';
import { forwardedAddress, lastForwarded, peerAddress, plainAddress } from './guard/address.ts';
import { isForApp } from './http/apps/app-hosts.ts';
import type { ReadFile } from './http/files.ts';
import { HttpCounts } from './http/http-counts.ts';
import { admitAgent, refuseAgent } from './http/routes/agents.ts';
import type { MetricsSettings } from './http/routes/metrics.ts';
import type { Variant } from './http/variant.ts';
import { chooseVariant, containerExtrasOf } from './http/variants/choose.ts';
import { agentFiles } from './local/assets/agent-files.ts';
import { generatedFiles } from './local/assets/generated-files.ts';
import { guideFile } from './local/assets/guide-files.ts';
import { swaggerFile } from './local/assets/swagger-files.ts';
import { timeStamp, writeCopy } from './local/database-copy.ts';
import { namingDisk } from './local/disk-problems.ts';
import { fileOf, openDatabase } from './local/open-database.ts';
import { secretKeysOf } from './local/secret-key.ts';
import { EXAMPLE_SHOP, shopFolder } from './local/shop-folder.ts';
import { besideCopies, dataFolder, listenProblem } from './local/start-problems.ts';
import { type NodeCoordinator, nodeCoordinator } from './node-coordinator.ts';
import { ensureAdministrator } from './operations/accounts/generated-passwords.ts';
import { appPlacesOf, appsOf, sharedSite } from './operations/apps/settings.ts';
import { makeJoinToken } from './operations/cluster/join-tokens.ts';
import { scrapeAccessOf } from './operations/cluster/metrics.ts';
import { Passwords } from './operations/passwords/passwords.ts';
import { rightsByDirectory } from './operations/sign-on/directory-rights.ts';
import { signOnOf } from './operations/sign-on/settings.ts';
import { migrateDatabase } from './prepare.ts';
import { acceptAppBy, serveApps, upgradesOf } from './server/app-sockets.ts';
import { httpServer } from './server/node-server.ts';
import { EventLoopDelay, processFamilies } from './server/process-metrics.ts';
import { acceptStream, isStream, serveStreams } from './server/stream-sockets.ts';
import type { NodeConfig } from './settings.ts';
import type { Db } from './store/db/db.ts';
import { groupAllReads } from './store/db/grouped-reads.ts';
import { isEmpty } from './store/schema/backup.ts';
import { compact } from './store/schema/compaction.ts';

const nowMs = () => Date.now();

/** What surrounds a control plane in its process. */
export interface Surroundings {
  log: Logger;
  /** log2 of scrypt's N for new passwords. Absent: that of production. */
  passwordCost?: number | undefined;
  /** Files for browsers, built already. Absent: they are built at the first request. */
  webFile?: ReadFile | undefined;
}

export interface SelfHosted {
  url: string;
  /** For the operator: the address, and at the first start the password, which is shown only now. */
  announcement: string;
  server: Server;
  db: Db;
  coordinator: NodeCoordinator;
  joinToken(): Promise<string>;
  /** Ends cleanly. Connections end after `agent`, the end of the local agent. */
  stop(agent?: () => Promise<void> | undefined): Promise<void>;
}

/** Rejects with an error for the operator if it can't start. */
export async function startSelfHosted(config: NodeConfig, surroundings: Surroundings): Promise<SelfHosted> {
  const { log } = surroundings;
  const dataDir = dataFolder(config.BERTH_DATA_DIR);
  const { db, isUpgrade } = await openDb(config, dataDir, log);
  const directory = await openDirectoryOf(config, log);
  const coordinator = nodeCoordinator(config, { db, log, isUpgrade });
  const variant = chooseVariant(config.BERTH_API_VARIANT);
  const metrics = metricsOf(config, () => connections.limits);
  const ofStreams = streamDeps(config, coordinator);
  const relay = new AppRelay(ofStreams);
  const sites = appsOf(config);
  const apps = sites && { ...sites, acceptApp: acceptAppBy(relay) };
  if (sites?.sharesSite) log('apps.shared-site', sharedSite(sites));
  // Requests wait for the first administrator: the coordinator must not read the users before.
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const parts = { dataDir, db, directory, coordinator, variant, metrics, apps, opened };
  const { fetch: serve } = createApp(appDeps(config, surroundings, parts));
  const trustsProxy = config.BERTH_TRUST_PROXY === 'on';
  const isApp = (request: IncomingMessage) => isForApp(sites, request);
  const { server, connections } = httpServer(serve, {
    variant,
    isUpgrade: (request) => isApp(request) || isConnect(request) || isStream(request),
    isApp,
    connectionLimits: connectionLimitsOf(config),
    trustsProxy,
    log,
  });
  const port = await listen(server, config);
  const deploymentName = config.BERTH_DEPLOYMENT_NAME;
  const upgrades = upgradesOf(server, isApp);
  const endAgents = serveAgents(upgrades.ofBerth, coordinator.agents, {
    maxUnreadBytes: config.BERTH_LIMITS.hostMessageBytes,
    admit: async (authorization) => {
      coordinator.assertAdmitting?.();
      return admitAgent({ db, deploymentName, nowMs }, authorization);
    },
    addressOf: ({ headers, socket }) =>
      plainAddress(
        (trustsProxy && lastForwarded(headers['x-forwarded-for']?.toString())) || socket.remoteAddress,
      ),
    admitted: (stream) => connections.keep(stream),
    refusal: (error) => refuseAgent(error, (cause) => log('connection.failed', { error: String(cause) })),
  });
  const keep = (stream: Duplex) => connections.keep(stream);
  const endStreams = serveStreams(upgrades.ofBerth, serve, ofStreams, keep);
  const endApps = serveApps(upgrades.ofApps, serve, ofStreams.clock, keep);
  // Not before the server listens: a start that fails would take the only copy of the password with it.
  const passwords = new Passwords(surroundings.passwordCost);
  const first = { ...firstPasswordOf(config), roles: variant.builtInRoles, passwords };
  const password = await ensureAdministrator(db, first, nowMs());
  open();
  coordinator.begin();
  const url = `http://${config.BERTH_HOST.includes(':') ? `[${config.BERTH_HOST}]` : config.BERTH_HOST}:${port}`;
  const listens = `Berth listens on ${url} (deployment ${deploymentName}).\n`;
  return {
    url,
    announcement: password
      ? `${listens}${firstStart(password, config.BERTH_PUBLIC_URL ?? reachable(url))}\n`
      : listens,
    server,
    db,
    coordinator,
    joinToken: async () => (await makeJoinToken(db, nowMs())).token,
    async stop(agent) {
      coordinator.endEvents();
      const served = closeServer(server);
      await agent?.();
      endStreams();
      endApps();
      endAgents();
      await served;
      coordinator.stop();
      directory?.close();
      await db.close();
    },
  };
}

/** Set off from the lines of the log around it. */
const firstStart = (password: string, url: string): string => `
First start: the administrator is admin, the password ${password} (shown only now).
    in a browser:           ${url}
    on the command line:    berth login ${url} --user admin
`;

/** Nobody opens the address that stands for all of this machine's. */
const reachable = (url: string): string =>
  url.replace('//0.0.0.0:', '//127.0.0.1:').replace(/\/\/\[::0?\]:/, '//[::1]:');

/** Opens the database, with the present schema. `isUpgrade`: this program has changed the schema. */
async function openDb(
  config: NodeConfig,
  dataDir: string,
  log: Logger,
): Promise<{ db: Db; isUpgrade: boolean }> {
  const url = config.BERTH_DATABASE_URL ?? `file:${join(dataDir, 'berth.db')}`;
  const db = groupAllReads(await openExisting(url, config.BERTH_DATABASE_TOKEN));
  const isUpgrade = await migrateDatabase(db, log, {
    secretKeys: ownSecretKeys(config, dataDir),
    backUp: () => backUpFile(db, url, log),
  });
  const compaction = await compact(db);
  if (compaction) log('database.compaction', { ...compaction });
  return { db, isUpgrade };
}

/** Refuses to begin an embedded file anew beside copies of an earlier one (H773). */
async function openExisting(url: string, token: string | undefined): Promise<Db> {
  const file = fileOf(url);
  if (file === undefined) return openDatabase(url, token);
  const db = await namingDisk(dirname(file), 'Berth keeps its database there.', () =>
    openDatabase(url, token),
  );
  const problem = (await isEmpty(db)) ? besideCopies(file) : undefined;
  if (problem === undefined) return db;
  await db.close();
  throw new ConfigError(problem);
}

/** Copies an embedded file beside itself, before a baseline takes its schema over. */
async function backUpFile(db: Db, url: string, log: Logger): Promise<void> {
  const source = fileOf(url);
  if (source === undefined) return;
  const file = `${source}.before-${timeStamp()}`;
  await writeCopy(db, file);
  log('database.backed-up', { file });
}

/** Its library is loaded only if there is a directory. */
async function openDirectoryOf(config: NodeConfig, log: Logger): Promise<Directory | undefined> {
  const settings = ldapConfigOf(config);
  if (!settings) return undefined;
  const { openDirectory } = await import('./directory/ldap-directory.ts');
  try {
    return await openDirectory(settings, log);
  } catch (error) {
    throw new ConfigError(`BERTH_LDAP_OPTIONS.ca: the file can not be read: ${String(error)}`);
  }
}

function appDeps(
  config: NodeConfig,
  { log, passwordCost, webFile }: Surroundings,
  parts: {
    dataDir: string;
    db: Db;
    directory: Directory | undefined;
    coordinator: NodeCoordinator;
    variant: Variant;
    metrics: MetricsSettings | undefined;
    apps: AppDeps['apps'];
    opened: Promise<void>;
  },
): AppDeps {
  const { dataDir, db, directory, coordinator, variant, metrics, apps, opened } = parts;
  const behindProxy = config.BERTH_TRUST_PROXY === 'on';
  return {
    db,
    log,
    passwordCost,
    coordinator: coordinator.api,
    openLog: serviceLogs({
      place: (request) => coordinator.api.place(request),
      logsAt: ownLogs(coordinator.agents),
    }),
    assertActive: coordinator.assertActive,
    deploymentName: config.BERTH_DEPLOYMENT_NAME,
    publicUrl: config.BERTH_PUBLIC_URL,
    minPasswordLength: config.BERTH_LIMITS.minPasswordLength,
    defaultMemoryBytes: schedulerConfigOf(config).defaultMemoryBytes,
    nowMs,
    addressOf: behindProxy ? forwardedAddress : peerAddress,
    maxWaitingLogins: config.BERTH_LIMITS.waitingLogins,
    directory,
    rightsOf:
      directory &&
      config.BERTH_LDAP_OPTIONS.groups &&
      rightsByDirectory({ db, coordinator: coordinator.api }, directory, config.BERTH_LDAP_OPTIONS.groups),
    withoutDirectory: ({ id }) =>
      log('directory.missing', { userId: id, reason: 'BERTH_LDAP_URL is not set' }),
    bodyMemoryBytes: config.BERTH_LIMITS.bodyMemoryBytes,
    maxSessionsPerUser: config.BERTH_LIMITS.sessionsPerUser,
    personalTokenRules: personalTokenRulesOf(config),
    signOn: signOnOf(config),
    appPlaces: appPlacesOf(config, idCode.appProofOf),
    containerExtras: containerExtrasOf(config),
    ...secretSettingsOf(config),
    secretKeys: ownSecretKeys(config, dataDir),
    variant,
    acceptStream,
    apps,
    opened,
    download: (one) => openDownload(one, streamDeps(config, coordinator)),
    swaggerFile,
    guideFile,
    agentFile: agentFiles(dataDir, config.BERTH_AGENT_RELEASE),
    shopFiles: shopFolder(resolve(config.BERTH_SHOP ?? EXAMPLE_SHOP)),
    webFile: webFile ?? generatedFiles('make-web-files.ts', join(dataDir, 'web-files')),
    gzip: (bytes) => gzipSync(bytes),
    metrics,
    strictTransport: strictTransportOf(config, { httpsItself: false, behindProxy }),
  };
}

/** Control planes of a database on a server need the same keys, which only their settings can give them. */
const ownSecretKeys = (
  { BERTH_SECRET_KEYS: keys = [], BERTH_DATABASE_URL: url }: NodeConfig,
  dataDir: string,
) => (url === undefined || fileOf(url) !== undefined ? secretKeysOf(keys, dataDir) : keys);

function streamDeps(config: NodeConfig, { api, agents }: NodeCoordinator): StreamSessionDeps {
  return {
    clock: nodeClock(() => {}),
    rules: streamRulesOf(config.BERTH_LIMITS),
    place: (request) => api.place(request),
    channelsAt: async (at) => ownChannels(agents, at),
  };
}

/** Undefined if nobody may read them. */
function metricsOf(config: NodeConfig, connections: () => Limit[]): MetricsSettings | undefined {
  const access = scrapeAccessOf(config);
  if (!access) return undefined;
  const delay = new EventLoopDelay();
  const ofProcess = () => [...limitFamilies(connections()), delay.family(), ...processFamilies()];
  const counts = { http: new HttpCounts(), apps: appsOf(config) ? new AppCounts() : undefined };
  return { access, maxHosts: config.BERTH_LIMITS.metricsHosts, ...counts, process: ofProcess };
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
    // Also closes connections that become idle meanwhile, which would wait for a next request.
    const idle = setInterval(() => server.closeIdleConnections(), 50).unref();
    const cut = setTimeout(() => server.closeAllConnections(), 2_000).unref();
    server.close(() => {
      clearInterval(idle);
      clearTimeout(cut);
      done();
    });
  });
}
