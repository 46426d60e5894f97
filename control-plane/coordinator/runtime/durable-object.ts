/**
 * The coordinator on workerd: one Durable Object per deployment, with the alarm as clock. Gateways hold the
 * sockets of its agents and reach it by RPC. The object's own storage holds only the alarm; all state is in
 * libSQL.
 */
import { DurableObject } from 'cloudflare:workers';
import { assemble } from '../../assembly.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { MIB } from '../../core/model/bounds.ts';
import { groupAllReads } from '../../store/db/grouped-reads.ts';
import type { SessionMessage } from '../agents/agent-connection.ts';
import { Coordinator } from '../coordinator.ts';
import type { CoordinatorApi, CoordinatorVerb } from '../coordinator-api.ts';
import { GatewayLinks } from '../gateways/gateway-links.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import { idCode } from './id-code.ts';
import { ObjectAlarm } from './object-alarm.ts';
import { objectClock } from './object-clock.ts';
import { gatewayStub, type ObjectBindings } from './object-stubs.ts';
import { callVerb, type Outcome, outcomeOf } from './remote-call.ts';

/** Less than the time after which the runtime lets an object without work sleep. */
const AWAKE_MS = 5_000;

export class CoordinatorObject extends DurableObject<ObjectBindings> {
  readonly #coordinator: Coordinator;
  readonly #links: GatewayLinks;
  readonly #prepare: () => Promise<void>;
  readonly #alarm: ObjectAlarm;
  #isKeptAwake = false;

  constructor(ctx: DurableObjectState, env: ObjectBindings) {
    super(ctx, env);
    const { config, scheduling, db, log, prepare } = assemble(env);
    this.#prepare = prepare;
    this.#alarm = new ObjectAlarm(ctx.storage, log, () => Date.now());
    this.#coordinator = new Coordinator({
      db: groupAllReads(db, (run) => setTimeout(run, 0)),
      log,
      idCode,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      scheduling,
      unknownContainers: config.BERTH_UNKNOWN_CONTAINERS,
      isolation: config.BERTH_NETWORK_ISOLATION,
      ...(config.BERTH_KEEP_ENDED !== undefined && { keepEndedDays: config.BERTH_KEEP_ENDED }),
      clock: { ...objectClock, wakeAt: (timeMs) => this.#alarm.set(timeMs) },
    });
    this.#links = new GatewayLinks({
      agents: this.#coordinator.agents,
      keyOf: (hostId) => this.#coordinator.keyOf(hostId),
      clock: objectClock,
      log,
      incarnation: crypto.randomUUID(),
      down: (gateway, incarnation, batch) => gatewayStub(env, gateway).down(incarnation, batch),
      maxWaitingLength: config.BERTH_MAX_GATEWAY_MIB * MIB,
    });
    void this.#greet(config.BERTH_HOSTS_PER_GATEWAY);
  }

  /** Admits an agent at its gateway. The value is the id of its connection. */
  admit(gateway: number, proof: VerifiedProof): Promise<Outcome<string>> {
    return this.#outcome(async () => {
      const id = this.#links.admit(gateway, proof);
      this.#stayAwake();
      return id;
    });
  }

  /** A batch from a gateway (GatewayLinks.up). */
  up(batch: Portion<SessionMessage>[]): Rejected {
    return this.#links.up(batch);
  }

  override alarm(): Promise<void> {
    return this.#alarm.ring(this.#prepare, () => this.#coordinator.wake());
  }

  /** The only method for callers in the Worker: calls a verb of CoordinatorApi (remote-call.ts). */
  call<V extends CoordinatorVerb>(
    verb: V,
    args: Parameters<CoordinatorApi[V]>,
  ): Promise<Outcome<Awaited<ReturnType<CoordinatorApi[V]>>>> {
    return this.#outcome(() => callVerb(this.#coordinator, verb, args));
  }

  /**
   * The sessions of agents are in memory only: the runtime must not let the object sleep while it has any
   * (C230). A timer prevents that.
   */
  #stayAwake(): void {
    if (this.#isKeptAwake || this.#links.connections === 0) return;
    this.#isKeptAwake = true;
    objectClock.after(AWAKE_MS, () => {
      this.#isKeptAwake = false;
      this.#stayAwake();
    });
  }

  /**
   * Agents that were connected before the object restarted must say hello anew, since their sessions are
   * lost. If the database does not answer now, they find out with their next message.
   */
  async #greet(hostsPerGateway: number): Promise<void> {
    const hosts = await this.#outcome(() => this.#coordinator.hosts()).catch(() => ({ value: [] }));
    if ('value' in hosts) this.#links.greet(hosts.value.map(({ id }) => gatewayOf(id, hostsPerGateway)));
  }

  #outcome<T>(run: () => Promise<T>): Promise<Outcome<T>> {
    return outcomeOf(async () => {
      await this.#prepare();
      return run();
    });
  }
}
