/**
 * Users with streams to services, whose sessions are revoked now and then. Their random choices are apart
 * from those of the world. Only some worlds have them, so that the others stay as they are.
 */

import type { Target } from '../../../../agent/engine/streams/target.ts';
import type { StreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import type { StreamPurpose } from '../../../../shared/streams/client-messages.ts';
import type { StreamTarget as TargetRequest } from '../../../../shared/streams/targets.ts';
import { pickOne, seededRandom } from '../../tools/random.ts';
import type { Ledger } from '../checks/ledger.ts';
import { StreamCheck } from '../checks/streams.ts';
import type { SimContainer } from '../machine/container.ts';
import { type Chances, connectContainer } from '../machine/stream-target.ts';
import type { ControlPlane } from '../plane/control-plane.ts';
import type { Gateways } from '../plane/gateways.ts';
import type { Requests } from '../plane/requests.ts';
import type { Store } from '../world/store.ts';
import type { World } from '../world/time.ts';
import { AppClient } from './app-client.ts';
import type { Client, ClientOptions } from './client.ts';
import { StreamClient } from './stream-client.ts';

export interface StreamUsersOptions {
  world: World;
  ledger: Ledger;
  store(): Store;
  hasStopped(): boolean;
  gateways: Gateways | undefined;
}

/** Share of the seeds whose worlds have streams. */
const SHARE = 0.3;
const STREAM = 1_000_003;
const USERS = [1, 2];
/** The kinds of streams, and what each is for. Requests to applications do not state that. */
const purposes: Record<ClientOptions['kind'], StreamPurpose> = {
  ...{ tcp: 'forward', http: 'forward', websocket: 'forward' },
  ...{ exec: 'exec', 'files-in': 'files', 'files-out': 'files' },
};
const KINDS = Object.keys(purposes) as ClientOptions['kind'][];
const MAX_PAUSE_MS = 3_000;
/** Services that may run. */
const LIVE = ['starting', 'active'];
/** Later than any clock of a control plane. */
const LONG_MS = 10 ** 14;
/** Credentials are checked again each minute, and the database may be slow. */
const REVIEWED_MS = 75_000;

/** Users reach these bounds. */
export const smallStreamRules: StreamRules = {
  ...{ inTotal: 6, perUser: 4, perService: 2, perHost: 3, auditedCommandLength: 0 },
  ...{ appRequests: 3, waitingAppRequests: 3 },
  ...{ idleMs: 120_000, totalMs: 300_000 },
};

export const hasStreams = (seed: number): boolean => seededRandom(seed + 3 * STREAM)() < SHARE;

export class StreamUsers implements Chances {
  readonly check: StreamCheck;
  readonly #options: StreamUsersOptions;
  readonly #random: () => number;
  readonly #clients = new Map<string, Client[]>();
  #requests: Requests | undefined;
  #ports = 0;
  /** Sessions that were opened, of all users together. */
  #sessions = 0;
  readonly #sessionOf = new Map<number, string>();

  constructor(options: StreamUsersOptions) {
    this.#options = options;
    this.#random = seededRandom(options.world.seed + 4 * STREAM);
    this.check = new StreamCheck(options.world, smallStreamRules, options.gateways !== undefined);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  between(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  /** Acts until the faults stop. */
  begin(requests: Requests): void {
    this.#requests = requests;
    const next = () => {
      if (this.#options.hasStopped()) return;
      if (this.chance(0.07)) void this.#revoke();
      else void this.#open();
      this.#options.world.after(this.between(1, MAX_PAUSE_MS), next);
    };
    this.#options.world.after(this.between(1, MAX_PAUSE_MS), next);
  }

  /** Connects a stream to a container. */
  connect(container: SimContainer | undefined, target: TargetRequest): Promise<Target> {
    return connectContainer(this.#options.world, this.check, this, container, target);
  }

  async #open(): Promise<void> {
    const { ledger, world, store } = this.#options;
    const live = [...ledger.services.values()].filter(({ status }) => LIVE.includes(String(status)));
    const row = pickOne(this.#random, live.slice(-8));
    const userId = pickOne(this.#random, USERS);
    if (!row || userId === undefined || row.host_id === null) return;
    const isBySession = this.chance(0.6);
    const session = isBySession ? await this.#session(userId, store()) : undefined;
    const [serviceId, hostId] = [Number(row.id), Number(row.host_id)];
    const port = ++this.#ports;
    await this.#requests?.send(
      `stream ${port} of user ${userId} to service ${serviceId}`,
      async (_, server) => {
        const client = this.#client(server, { port, userId, serviceId, hostId, session });
        if (session === undefined) return;
        this.#clients.get(session)?.push(client);
        if (this.#sessionOf.get(userId) !== session) this.#demandEnd(client, world.nowMs);
      },
      () => {},
      { changes: false },
    );
  }

  #client(
    server: ControlPlane,
    stream: {
      port: number;
      userId: number;
      serviceId: number;
      hostId: number;
      session: string | undefined;
    },
  ): Client {
    const { port, userId, serviceId, hostId, session } = stream;
    const { world, ledger, gateways } = this.#options;
    const gateway = gateways?.of(hostId);
    const process = gateway?.memory ?? server.process;
    const kind = pickOne(this.#random, KINDS) ?? 'tcp';
    const options: ClientOptions = {
      ...{ world, check: this.check, chances: this, process, port, kind },
      request: {
        ...{ purpose: purposes[kind], serviceId, hostId },
        subscriber: {
          ...{ userId, credentialVersion: 1, use: { kind: 'exec-service' } },
          credential: session === undefined ? { by: 'password' } : { by: 'session', tokenHash: session },
          ownerId: Number(ledger.executionOf(serviceId)?.user_id ?? userId),
        },
        doer: {
          ...{ userId, username: `user${userId}`, credential: 'session', tokenId: null },
          ...{ address: null, requestId: null },
        },
      },
      deps: (gateway ?? server).streamDeps(smallStreamRules),
    };
    const isApp = kind === 'http' || kind === 'websocket';
    return world.enter(process, () => (isApp ? new AppClient(options) : new StreamClient(options)));
  }

  /** The session of the user, a new one if the last was revoked. */
  async #session(userId: number, { db }: Store): Promise<string> {
    const known = this.#sessionOf.get(userId);
    if (known !== undefined) return known;
    const session = `session-${++this.#sessions}`;
    this.#sessionOf.set(userId, session);
    this.#clients.set(session, []);
    await db.query(
      'INSERT INTO sessions (token_hash, user_id, credential_version, expires_ms) VALUES (?, ?, 1, ?)',
      [session, userId, LONG_MS],
    );
    return session;
  }

  async #revoke(): Promise<void> {
    const { world, store } = this.#options;
    const [userId, session] = pickOne(this.#random, [...this.#sessionOf]) ?? [];
    if (userId === undefined || session === undefined) return;
    this.#sessionOf.delete(userId);
    await store().db.query('DELETE FROM sessions WHERE token_hash = ?', [session]);
    world.count('fault: a session with streams is revoked');
    await this.#requests?.send(
      `review of user ${userId}, whose ${session} was revoked`,
      (coordinator) => coordinator.reviewSubscriptions(userId),
      () => {},
      { changes: false },
    );
    for (const client of this.#clients.get(session) ?? []) this.#demandEnd(client, world.nowMs);
  }

  /** Whether it ends is judged once the database has worked for long enough. */
  #demandEnd(client: Client, revokedMs: number): void {
    const { world, store } = this.#options;
    world.after(REVIEWED_MS, () => {
      if (client.endedMs !== null || !client.process.alive) return;
      const workedMs = world.nowMs - Math.max(revokedMs, store().troubledMs(client.process));
      if (workedMs < REVIEWED_MS) this.#demandEnd(client, revokedMs);
      else world.violate(`stream ${client.port} goes on ${workedMs} ms after its session was revoked`);
    });
  }
}
