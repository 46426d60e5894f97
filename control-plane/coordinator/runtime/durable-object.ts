/**
 * The coordinator on workerd: one Durable Object per deployment, agents on hibernatable WebSockets, the alarm
 * as clock. The object's own storage holds only the alarm; all state is in libSQL.
 */
import { DurableObject } from 'cloudflare:workers';
import { closeCodes } from '../../../shared/protocol/close.ts';
import { assemble } from '../../assembly.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { MIB } from '../../core/model/bounds.ts';
import type { AgentConnection } from '../agents/agent-connection.ts';
import { Coordinator } from '../coordinator.ts';
import type { CoordinatorApi, CoordinatorVerb } from '../coordinator-api.ts';
import type { AgentSocket } from '../ports.ts';
import { PROOF_HEADER } from './forward-upgrade.ts';
import { idCode } from './id-code.ts';
import { ObjectAlarm } from './object-alarm.ts';
import { callVerb, type Outcome, outcomeOf } from './remote-call.ts';

/** workerd takes some 0.3 ms for each message, ten times as long as Node. */
const MESSAGE_COSTS = { own: 8_192, requested: 512 };

/** The settings and bindings of the Worker; `assemble` reads them. */
type Environment = Record<string, unknown>;

export class CoordinatorObject extends DurableObject<Environment> {
  readonly #coordinator: Coordinator;
  readonly #connections = new Map<WebSocket, AgentConnection>();
  readonly #prepare: () => Promise<void>;
  readonly #alarm: ObjectAlarm;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const { config, scheduling, db, log, prepare } = assemble(env);
    this.#prepare = prepare;
    this.#alarm = new ObjectAlarm(ctx.storage, log, () => Date.now());
    this.#coordinator = new Coordinator({
      db,
      log,
      idCode,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      scheduling,
      unknownContainers: config.BERTH_UNKNOWN_CONTAINERS,
      isolation: config.BERTH_NETWORK_ISOLATION,
      ...(config.BERTH_KEEP_ENDED !== undefined && { keepEndedDays: config.BERTH_KEEP_ENDED }),
      messageAllowance: { maxBytes: config.BERTH_MAX_HOST_MESSAGES_MIB * MIB, costs: MESSAGE_COSTS },
      clock: {
        nowMs: () => Date.now(),
        wakeAt: (timeMs) => this.#alarm.set(timeMs),
        defer: (turn) => setTimeout(turn, 0),
        after: (delayMs, run) => setTimeout(run, delayMs),
      },
    });
    // These agents were connected before the object restarted. They must send a new hello, since their state
    // is lost.
    for (const socket of ctx.getWebSockets()) socket.close(closeCodes.resync.code, 'coordinator restarted');
  }

  /** Accepts an agent's upgrade request, which the Worker has forwarded (forward-upgrade.ts). */
  override async fetch(request: Request): Promise<Response> {
    const proof = JSON.parse(request.headers.get(PROOF_HEADER) ?? '') as VerifiedProof;
    const admission = await this.#outcome(async () => this.#coordinator.agents.admit(proof));
    if ('code' in admission) return Response.json(admission);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    const agentSocket: AgentSocket = {
      send: (data) => server.send(data),
      close: (code, reason) => server.close(code, reason),
    };
    const connection = this.#coordinator.agents.connect(agentSocket, proof.hostId);
    this.#connections.set(server, connection);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    this.#connections.get(socket)?.receive(typeof data === 'string' ? data : new Uint8Array(data));
  }

  override webSocketClose(socket: WebSocket): void {
    this.#connections.get(socket)?.closed();
    this.#connections.delete(socket);
    // workerd does not answer an agent's close by itself, and the agent waits for the answer. The agent's own
    // code may be one that must not be sent.
    socket.close(1000);
  }

  override webSocketError(socket: WebSocket): void {
    this.#connections.get(socket)?.closed();
    this.#connections.delete(socket);
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

  #outcome<T>(run: () => Promise<T>): Promise<Outcome<T>> {
    return outcomeOf(async () => {
      await this.#prepare();
      return run();
    });
  }
}
