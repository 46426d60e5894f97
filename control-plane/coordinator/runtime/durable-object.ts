/**
 * The coordinator on workerd: one Durable Object per deployment, with the alarm as clock. Gateways hold the
 * sockets of its agents and reach it by RPC. All state is in libSQL. The object's own storage holds the
 * alarm, and while the object sleeps what its memory had (C232).
 */
import { DurableObject } from 'cloudflare:workers';
import { type Assembly, assemble } from '../../assembly.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { type AwakeSummary, type AwakeTotals, sumOfTotals } from '../../core/views/awake-totals.ts';
import type { Db } from '../../store/db/db.ts';
import { groupAllReads } from '../../store/db/grouped-reads.ts';
import type { SessionMessage } from '../connections/agent-connection.ts';
import type { PassedBytes } from '../connections/traffic.ts';
import { Coordinator } from '../coordinator.ts';
import type { CoordinatorApi, CoordinatorVerb } from '../coordinator-api.ts';
import { GatewayLinks } from '../gateways/gateway-links.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import { AwakeTime } from '../sleep/awake-time.ts';
import type { SavedState } from '../sleep/saved-state.ts';
import { idCode } from './id-code.ts';
import { ObjectAlarm } from './object-alarm.ts';
import { objectClock } from './object-clock.ts';
import { gatewayStub, type ObjectBindings } from './object-stubs.ts';
import { acceptPlacement } from './placement-sockets.ts';
import { callVerb, type Outcome, outcomeOf } from './remote-call.ts';
import { SavedStorage } from './saved-storage.ts';

/**
 * How often an object that is awake looks whether it may sleep: if no event has come since it looked last. It
 * looks less often with many agents, since it then saves more.
 */
const LOOK_MS = 100;
const LOOK_MS_PER_AGENT = 1;
/** How long the gateways' answers about their time awake are used. */
const ASK_PERIOD_MS = 60_000;

export class CoordinatorObject extends DurableObject<ObjectBindings> {
  readonly #assembly: Assembly;
  readonly #alarm: ObjectAlarm;
  readonly #saved: SavedStorage;
  /** Prepares the database. Does nothing as long as the object goes on from a sleep. */
  #prepare: () => Promise<void>;
  #coordinator!: Coordinator;
  #links!: GatewayLinks;
  #awake!: AwakeTime;
  /** Its timers count as time awake. */
  #clock = objectClock;
  /** What gateways have answered last about their time awake, and when they were asked. */
  #gatewayTotals: AwakeTotals[] = [];
  #askedMs = 0;
  /** False once everything is saved, until the next event. */
  #isTended = false;
  /** No event has come since the object looked last whether it may sleep. */
  #isQuiet = false;

  constructor(ctx: DurableObjectState, env: ObjectBindings) {
    super(ctx, env);
    this.#assembly = assemble(env);
    this.#prepare = this.#assembly.prepare;
    this.#alarm = new ObjectAlarm(ctx.storage, this.#assembly.log, () => Date.now());
    this.#saved = new SavedStorage(ctx.storage, this.#assembly.release);
    void ctx.blockConcurrencyWhile(async () => {
      const { state, totals } = await this.#saved.load();
      this.#begin(state, totals);
    });
  }

  /** Admits an agent at its gateway. The value is the id of its connection. */
  admit(gateway: number, proof: VerifiedProof): Promise<Outcome<string>> {
    return this.#outcome(async () => {
      this.#saved.addGateway(gateway);
      return this.#links.admit(gateway, proof);
    });
  }

  /** A batch from a gateway (GatewayLinks.up). */
  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Promise<Rejected> {
    return this.#handle(() => this.#links.up(batch, passed));
  }

  override alarm(): Promise<void> {
    this.#alarm.rang();
    return this.#handle(() => this.#alarm.answer(this.#prepare, () => this.#coordinator.wake()));
  }

  /** Calls a verb of CoordinatorApi for the Worker (remote-call.ts). */
  call<V extends CoordinatorVerb>(
    verb: V,
    args: Parameters<CoordinatorApi[V]>,
  ): Promise<Outcome<Awaited<ReturnType<CoordinatorApi[V]>>>> {
    return this.#outcome(() => callVerb(this.#coordinator, verb, args));
  }

  /** Opens a placement for a reader in the Worker or at a gateway. */
  override fetch(request: Request): Promise<Response> {
    return acceptPlacement(request, this.#awake, (wanted) =>
      this.#outcome(() => this.#coordinator.place(wanted)),
    );
  }

  /** `state`: what the object had in memory before it slept. */
  #begin(state: SavedState | undefined, totals: AwakeTotals | undefined): void {
    const { config, scheduling, log, db, containerExtras } = this.#assembly;
    this.#awake = new AwakeTime(objectClock.nowMs, totals);
    this.#clock = this.#awake.clockOf(objectClock);
    this.#coordinator = new Coordinator({
      db: groupAllReads(countedDb(db, this.#awake), (run) => setTimeout(run, 0)),
      log,
      idCode,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      publicUrl: config.BERTH_PUBLIC_URL,
      scheduling,
      unknownContainers: config.BERTH_UNKNOWN_CONTAINERS,
      isolation: config.BERTH_NETWORK_ISOLATION,
      appPaths: config.BERTH_APPS_PATHS,
      containerExtras,
      keepEndedDays: config.BERTH_LIMITS.endedDays,
      claim: { prepare: () => this.#prepareAnew() },
      resumes: state,
      awake: () => this.#awakeSummary(),
      clock: { ...this.#clock, wakeAt: (timeMs) => this.#alarm.set(timeMs) },
    });
    this.#links = new GatewayLinks({
      agents: this.#coordinator.agents,
      keyOf: (hostId) => this.#coordinator.keyOf(hostId),
      clock: this.#clock,
      log,
      incarnation: state?.incarnation ?? crypto.randomUUID(),
      down: (gateway, incarnation, batch) => gatewayStub(this.env, gateway).down(incarnation, batch),
      maxWaitingLength: config.BERTH_LIMITS.gatewayBytes,
    });
    // Agents must say hello anew, since their sessions are lost.
    if (!state) return void this.#links.greet(this.#saved.gateways);
    log('coordinator.woke', { connections: state.connections.length });
    // The same release has prepared the database.
    this.#prepare = async () => {};
    for (const proof of state.proofs) this.#coordinator.agents.replayGuard.use(proof, Date.now());
    this.#links.resume(state);
  }

  /** Before the coordinator takes over: another release may have used the database while the object slept. */
  #prepareAnew(): Promise<void> {
    this.#prepare = this.#assembly.prepare;
    return this.#awake.during(this.#prepare);
  }

  /**
   * Anybody may ask, so that gateways are asked once a minute at most. Those that do not answer are left out.
   */
  async #awakeSummary(): Promise<AwakeSummary> {
    if (Math.abs(Date.now() - this.#askedMs) >= ASK_PERIOD_MS) {
      this.#askedMs = Date.now();
      const calls = this.#links.gateways.map((gateway) => gatewayStub(this.env, gateway).awakeTotals());
      const answers = await Promise.allSettled(calls);
      this.#gatewayTotals = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    }
    return { coordinator: this.#awake.totals, gateways: sumOfTotals(this.#gatewayTotals) };
  }

  /** Whatever may change the state in memory runs here. */
  #handle<T>(run: () => T | Promise<T>): Promise<T> {
    this.#saved.discard();
    this.#alarm.guard();
    this.#isQuiet = false;
    const handled = this.#awake.during(run);
    if (!this.#isTended) this.#tend();
    return handled;
  }

  /** Once nothing is under way, saves what is in memory; the runtime then lets the object sleep (C232). */
  #tend(): void {
    this.#isTended = true;
    this.#clock.after(LOOK_MS + LOOK_MS_PER_AGENT * this.#links.connections, () => {
      this.#isTended = false;
      const wasQuiet = this.#isQuiet;
      this.#isQuiet = true;
      if (wasQuiet && this.#mayRest()) this.#alarm.rest();
      else this.#tend();
    });
  }

  /**
   * Whether the object may sleep, or need not be kept awake. Called by a timer, which counts as under way.
   */
  #mayRest(): boolean {
    if (this.#awake.active > 1) return false;
    const { saved, agents } = this.#coordinator;
    // After a sleep the state is read when something needs it. Until then there is nothing to save.
    if (!this.#alarm.isDueKnown && this.#links.connections > 0) this.#coordinator.wake();
    const links = saved && this.#links.saved();
    if (!saved || !links) return this.#links.connections === 0;
    const proofs = agents.replayGuard.unexpired(Date.now());
    return this.#saved.save({ ...links, ...saved, proofs }, this.#awake.totals);
  }

  #outcome<T>(run: () => Promise<T>): Promise<Outcome<T>> {
    return this.#handle(() =>
      outcomeOf(async () => {
        await this.#prepare();
        return run();
      }),
    );
  }
}

/** A database whose requests count as time awake (C233). */
const countedDb = (db: Db, awake: AwakeTime): Db => ({
  query: (sql, args) => awake.during(() => db.query(sql, args)),
  batch: (statements) => awake.during(() => db.batch(statements)),
  batchRows: (statements) => awake.during(() => db.batchRows(statements)),
  ...(db.readTogether && {
    readTogether: (reads) => awake.during(() => db.readTogether?.(reads) ?? Promise.resolve([])),
  }),
  close: () => db.close(),
});
