/**
 * The control plane as the Worker assembles it, and real agents, in one process: counts what Cloudflare
 * charges for. Calls between Worker and object pass through the code of the remote calls; only the network
 * between the parts is missing.
 */

import { type Assembly, assemble } from '../../../agent/assembly.ts';
import { readConfig as readAgentConfig } from '../../../agent/config.ts';
import { punchHole } from '../../../agent/host/punch-hole.ts';
import { createApp } from '../../../control-plane/app.ts';
import {
  firstPasswordOf,
  personalTokenRulesOf,
  readConfig,
  schedulerConfigOf,
  secretSettingsOf,
} from '../../../control-plane/config.ts';
import { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import type { CoordinatorVerb } from '../../../control-plane/coordinator/coordinator-api.ts';
import { Gateway } from '../../../control-plane/coordinator/gateways/gateway.ts';
import { GatewayLinks } from '../../../control-plane/coordinator/gateways/gateway-links.ts';
import { idCode } from '../../../control-plane/coordinator/runtime/id-code.ts';
import { ObjectAlarm } from '../../../control-plane/coordinator/runtime/object-alarm.ts';
import {
  callVerb,
  coordinatorClient,
  outcomeOf,
} from '../../../control-plane/coordinator/runtime/remote-call.ts';
import { holdMs, newHost } from '../../../control-plane/core/model/host.ts';
import { cloudflareAddress } from '../../../control-plane/guard/address.ts';
import { chooseVariant } from '../../../control-plane/http/variants/choose.ts';
import { prepareDatabase } from '../../../control-plane/prepare.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import type { Argument, Db, Row, Statement } from '../../../control-plane/store/db/db.ts';
import { PULSE } from '../../../shared/protocol/pulse.ts';
import { machine } from '../agents/agent-rig.ts';
import { basic } from '../clients/http-client.ts';
import { FakeEngine } from '../engines/fake-engine.ts';
import { noCredentials, noSecrets } from '../fixtures/assignments.ts';

/** What was used so far. */
export interface Metered {
  /** Requests to the Worker. */
  requests: number;
  /** Calls from the Worker to the object. */
  objectCalls: number;
  /** Messages of agents to their gateway, without pulses. */
  messages: number;
  /** Pulses of agents, which the runtime answers. */
  pulses: number;
  /** Calls between gateway and coordinator. */
  gatewayCalls: number;
  /** Alarms of the coordinator. */
  alarms: number;
  alarmSettings: number;
  gatewayAlarms: number;
  /** Requests to the database, of Worker and object. */
  databaseRequests: number;
}

const PASSWORD = 'secret words';
const noFile = () => Promise.reject(new Error('no files'));

export class MeteredBerth {
  readonly metered: Metered = {
    ...{ requests: 0, objectCalls: 0, messages: 0, pulses: 0, gatewayCalls: 0 },
    ...{ alarms: 0, alarmSettings: 0, gatewayAlarms: 0, databaseRequests: 0 },
  };
  readonly coordinator: Coordinator;
  readonly #app: ReturnType<typeof createApp>;
  readonly #db: Db;
  readonly #dataDir: string;
  readonly #agents: Assembly[] = [];
  readonly #gateway: Gateway;
  readonly #links: GatewayLinks;
  #cookie = '';
  #alarm: NodeJS.Timeout | undefined;
  #gatewayAlarm: NodeJS.Timeout | undefined;

  /** Opens a control plane on a database without tables, and logs in. */
  static async open(db: Db, dataDir: string, settings: NodeJS.ProcessEnv = {}): Promise<MeteredBerth> {
    const config = readConfig({ BERTH_ADMIN_PASSWORD: PASSWORD, ...settings });
    await prepareDatabase(db, () => {}, firstPasswordOf(config), 0);
    const berth = new MeteredBerth(db, dataDir, config);
    const reply = await berth.#app.request('/api/0.7/login', { headers: basic('admin', PASSWORD) });
    berth.#cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? '';
    if (berth.#cookie === '') throw new Error(`the login failed: ${reply.status} ${await reply.text()}`);
    return berth;
  }

  constructor(db: Db, dataDir: string, config: ReturnType<typeof readConfig>) {
    this.#db = this.#counted(db);
    this.#dataDir = dataDir;
    const nowMs = () => Date.now();
    const log = () => {};
    const storage = {
      setAlarm: async (timeMs: number) => this.#setAlarm(timeMs, ring),
      deleteAlarm: async () => clearTimeout(this.#alarm),
    };
    const alarm = new ObjectAlarm(storage, log, nowMs);
    const ring = () => {
      alarm.rang();
      alarm.guard();
      return alarm.answer(
        async () => {},
        () => this.coordinator.wake(),
      );
    };
    const scheduling = schedulerConfigOf(config);
    const after = (delayMs: number, run: () => void) => {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    };
    this.coordinator = new Coordinator({
      db: this.#db,
      log,
      idCode,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      scheduling,
      clock: {
        nowMs,
        monotonicMs: nowMs,
        wakeAt: (timeMs) => {
          alarm.set(timeMs);
          // With leases the object does not sleep (C230).
          if (scheduling.hostLossPolicy === 'wait') alarm.rest();
        },
        defer: (turn) => setTimeout(turn, 0),
        after,
      },
    });
    const shared = { clock: { nowMs, monotonicMs: nowMs, after }, log, maxWaitingLength: 2 ** 25 };
    this.#links = new GatewayLinks({
      ...shared,
      agents: this.coordinator.agents,
      keyOf: () => undefined,
      incarnation: 'metered',
      down: async (_, incarnation, batch) => {
        this.metered.gatewayCalls += 1;
        return this.#gateway.down(incarnation, batch);
      },
    });
    this.#gateway = new Gateway({
      ...shared,
      holdMs: holdMs(scheduling.lostAfterMs),
      lostAfterMs: scheduling.lostAfterMs,
      up: async (...batch) => {
        this.metered.gatewayCalls += 1;
        alarm.guard();
        return this.#links.up(...batch);
      },
    });
    const call = (verb: string, args: readonly unknown[]) => {
      this.metered.objectCalls += 1;
      alarm.guard();
      return outcomeOf(() => callVerb(this.coordinator, verb as CoordinatorVerb, args as never));
    };
    this.#app = createApp({
      db: this.#db,
      log,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      minPasswordLength: config.BERTH_LIMITS.minPasswordLength,
      coordinator: coordinatorClient(() => ({ call })),
      openLog: noFile,
      nowMs,
      addressOf: cloudflareAddress,
      maxWaitingLogins: config.BERTH_LIMITS.waitingLogins,
      bodyMemoryBytes: 2 ** 30,
      maxSessionsPerUser: config.BERTH_LIMITS.sessionsPerUser,
      personalTokenRules: personalTokenRulesOf(config),
      ...secretSettingsOf(config),
      variant: chooseVariant(config.BERTH_API_VARIANT),
      ...{
        swaggerFile: noFile,
        agentFile: noFile,
        webFile: noFile,
        guideFile: noFile,
        acceptStream: noFile,
        download: noFile,
      },
      shopFiles: { list: noFile, read: noFile } as never,
    });
  }

  /** Sends a request of the API as the administrator, by cookie. Throws unless it succeeds. */
  async request(method: string, path: string, body?: unknown): Promise<unknown> {
    this.metered.requests += 1;
    const reply = await this.#app.request(`/api/0.7/${path}`, {
      method,
      headers: { cookie: this.#cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Adds a host with a real agent on an engine in memory, and connects it. */
  async addHost(name: string): Promise<FakeEngine> {
    const hostId = this.#agents.length + 1;
    const engine = new FakeEngine(`${this.#dataDir}/${name}`);
    await this.#db.batch([insertHost(newHost(hostId, name, Date.now()))]);
    const env = { BERTH_AGENT_NAME: name, BERTH_AGENT_DATA_DIR: `${this.#dataDir}/${name}/agent` };
    const parts = {
      engine,
      identity: { headers: async () => ({}) },
      log: () => {},
      probeDisk: async () => undefined,
      punchHole,
      fetchSecrets: noSecrets,
      fetchCredentials: noCredentials,
      stopSignal: new AbortController().signal,
    };
    const config = readAgentConfig(env, { ...machine, hostname: name });
    const assembly = assemble(config, await engine.facts(), parts);
    this.#agents.push(assembly);
    void assembly.watch.run(() => {});
    this.#connect(assembly, hostId);
    return engine;
  }

  async close(): Promise<void> {
    clearTimeout(this.#alarm);
    clearTimeout(this.#gatewayAlarm);
    for (const { watch, agent, output } of this.#agents) {
      watch.close();
      agent.close();
      await output.close();
    }
  }

  #counted(db: Db): Db {
    const count = () => {
      this.metered.databaseRequests += 1;
    };
    return {
      query: (sql: string, args?: readonly Argument[]): Promise<Row[]> => {
        count();
        return db.query(sql, args);
      },
      batch: (statements: readonly Statement[]): Promise<number[]> => {
        // The remote database sends nothing for an empty batch.
        if (statements.length > 0) count();
        return db.batch(statements);
      },
      batchRows: (statements: readonly Statement[]): Promise<Row[][]> => {
        if (statements.length > 0) count();
        return db.batchRows(statements);
      },
      close: () => db.close(),
    };
  }

  #connect({ begin }: Assembly, hostId: number): void {
    const close = (code: number, reason: string) => {
      throw new Error(`the connection of host ${hostId} was closed with ${code}: ${reason}`);
    };
    const send = (data: string | Uint8Array) => {
      queueMicrotask(() => session.receive(String(data)));
    };
    const proof = { hostId, proofId: String(hostId), expiresMs: Number.MAX_SAFE_INTEGER };
    const id = this.#links.admit(0, proof);
    let pulsedMs: number | null = null;
    const socket = { send, close, lastPulseMs: () => pulsedMs };
    const server = this.#gateway.open(socket, hostId, id, () => {});
    const receive = (data: string | Uint8Array) => {
      if (data === PULSE) {
        this.metered.pulses += 1;
        pulsedMs = Date.now();
        send(PULSE);
        return;
      }
      this.metered.messages += 1;
      server.receive(data);
    };
    const agentSocket = { send: receive, sendBytes: async (bytes: Uint8Array) => receive(bytes), close };
    const session = begin(agentSocket);
    this.#watch();
  }

  /** Looks for silent agents whenever the gateway's alarm rings. */
  #watch(): void {
    clearTimeout(this.#gatewayAlarm);
    const nextMs = this.#gateway.endSilent();
    if (nextMs === null) return;
    this.#gatewayAlarm = setTimeout(() => {
      this.metered.gatewayAlarms += 1;
      this.#watch();
    }, nextMs - Date.now());
  }

  #setAlarm(timeMs: number, ring: () => Promise<void>): void {
    this.metered.alarmSettings += 1;
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(
      () => {
        this.metered.alarms += 1;
        void ring();
      },
      Math.max(0, timeMs - Date.now()),
    );
  }
}
