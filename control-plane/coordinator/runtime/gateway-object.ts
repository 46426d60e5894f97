/**
 * A gateway on workerd: one Durable Object for some hundred hosts, with their agents on hibernatable
 * WebSockets. What it needs to know about a connection after it has slept is attached to the socket.
 */
import { DurableObject } from 'cloudflare:workers';
import { closeCodes } from '../../../shared/protocol/close.ts';
import { PULSE } from '../../../shared/protocol/pulse.ts';
import { type Assembly, assemble } from '../../assembly.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { holdMs } from '../../core/model/host.ts';
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import { AppRelay } from '../apps/app-relay.ts';
import type { AgentConnection } from '../connections/agent-connection.ts';
import { inTime } from '../gateways/batch-sender.ts';
import { type ConnectionState, Gateway } from '../gateways/gateway.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import type { AgentSocket } from '../ports.ts';
import { AwakeTime } from '../sleep/awake-time.ts';
import { remotePlacements } from '../streams/remote-placement.ts';
import { MAX_RESUMABLE, ResumableStreams } from '../streams/resumable-streams.ts';
import type { StreamSessionDeps } from '../streams/stream-session.ts';
import { APP_PATH, acceptApp } from './apps/gateway-apps.ts';
import { acceptChannel, CHANNEL_PATH } from './channel-sockets.ts';
import { PROOF_HEADER } from './forward-upgrade.ts';
import { acceptStream, STREAM_PATH } from './gateway-streams.ts';
import { MESSAGE_COSTS, objectClock } from './object-clock.ts';
import { coordinatorStub, type ObjectBindings } from './object-stubs.ts';
import { diallingPlacements } from './placement-sockets.ts';

/** Attached to each socket. */
interface Attachment extends ConnectionState {
  id: string;
  hostId: number;
}

/**
 * The object's storage has a key for each connection of whose end the coordinator does not know yet (P180).
 */
const CONNECTION_KEY = 'connection.';

/** Another version of this program may have attached something else. */
function isAttachment(value: unknown): value is Attachment {
  const { id, hostId, up, delivered, down, heardMs } = (value ?? {}) as Partial<Attachment>;
  return typeof id === 'string' && [hostId, up, delivered, down, heardMs].every(Number.isSafeInteger);
}

/** Where the object keeps how long it was awake, and how often that is written while it has much to do. */
const TOTALS_KEY = 'awake';
const TOTALS_PERIOD_MS = 60_000;

export class GatewayObject extends DurableObject<ObjectBindings> {
  readonly #assembly: Assembly;
  readonly #connections = new Map<WebSocket, AgentConnection>();
  #gateway!: Gateway;
  #awake!: AwakeTime;
  #apps!: AppRelay;
  readonly #resumable = new ResumableStreams(MAX_RESUMABLE.gateway);
  /** When the totals were last written. */
  #writtenMs = 0;

  constructor(ctx: DurableObjectState, env: ObjectBindings) {
    super(ctx, env);
    this.#assembly = assemble(env);
    // The runtime answers pulses without waking the object.
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PULSE, PULSE));
    void ctx.blockConcurrencyWhile(async () => this.#begin(await ctx.storage.get(TOTALS_KEY)));
  }

  /**
   * Accepts an upgrade request that the Worker has forwarded: of an agent, a reader in the
   * Worker, a client of a stream, or an app.
   */
  override fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    return this.#awake.during(async () => {
      if (pathname === STREAM_PATH)
        return acceptStream(request, this.#awake, this.#streamDeps(), this.#resumable);
      if (pathname === APP_PATH)
        return acceptApp(request, this.#awake, this.#awake.clockOf(objectClock), this.#apps);
      if (pathname === CHANNEL_PATH) return acceptChannel(request, this.#awake, this.#gateway);
      return this.#accept(request);
    });
  }

  #streamDeps(): StreamSessionDeps {
    return {
      clock: this.#awake.clockOf(objectClock),
      rules: this.#assembly.scheduling.streams,
      ...remotePlacements(diallingPlacements(() => coordinatorStub(this.env))),
      channelsAt: async ({ gateway }) => (gateway ? this.#gateway.channelsOf(gateway) : undefined),
    };
  }

  async #accept(request: Request): Promise<Response> {
    const { config } = this.#assembly;
    const proof = JSON.parse(request.headers.get(PROOF_HEADER) ?? '') as VerifiedProof;
    const gateway = gatewayOf(proof.hostId, config.BERTH_LIMITS.hostsPerGateway);
    const admission = await inTime(coordinatorStub(this.env).admit(gateway, proof), objectClock);
    if ('code' in admission) return Response.json(admission);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    const id = admission.value;
    this.#open(server, id, proof.hostId);
    await this.ctx.storage.put(`${CONNECTION_KEY}${id}`, proof.hostId);
    if ((await this.ctx.storage.getAlarm()) === null)
      await this.ctx.storage.setAlarm(Date.now() + this.#assembly.scheduling.lostAfterMs);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    const end = this.#awake.begin();
    this.#connections.get(socket)?.receive(typeof data === 'string' ? data : new Uint8Array(data));
    end();
  }

  override webSocketClose(socket: WebSocket): void {
    this.#closed(socket);
    // workerd does not answer an agent's close by itself, and the agent waits for the answer. The agent's own
    // code may be one that must not be sent.
    socket.close(1000);
  }

  override webSocketError(socket: WebSocket): void {
    this.#closed(socket);
  }

  /** Looks for silent agents, and for connections that have ended with an earlier object (P180). */
  override alarm(): Promise<void> {
    return this.#awake.during(async () => {
      const nextMs = this.#gateway.endSilent();
      const stored = await this.ctx.storage.list({ prefix: CONNECTION_KEY });
      for (const key of stored.keys()) this.#gateway.missing(key.slice(CONNECTION_KEY.length));
      if (stored.size > 0)
        await this.ctx.storage.setAlarm(nextMs ?? Date.now() + this.#assembly.scheduling.lostAfterMs);
    });
  }

  /** How long the object was awake (C233). */
  awakeTotals(): AwakeTotals {
    return this.#awake.totals;
  }

  /** A batch from the coordinator (Gateway.down). */
  down(incarnation: string, batch: Portion<string>[]): Promise<Rejected> {
    return this.#awake.during(() => this.#gateway.down(incarnation, batch));
  }

  #begin(before: AwakeTotals | undefined): void {
    const { config, scheduling, log } = this.#assembly;
    const { ctx, env } = this;
    this.#awake = new AwakeTime(objectClock.nowMs, before, () => this.#writeTotals());
    this.#gateway = new Gateway({
      clock: this.#awake.clockOf(objectClock),
      log,
      messageAllowance: { maxBytes: config.BERTH_LIMITS.hostMessageBytes, costs: MESSAGE_COSTS },
      maxWaitingLength: config.BERTH_LIMITS.gatewayBytes,
      holdMs: holdMs(scheduling.lostAfterMs),
      lostAfterMs: scheduling.lostAfterMs,
      up: (...batch) => this.#awake.during(() => coordinatorStub(env).up(...batch)),
      over: (id) => void ctx.storage.delete(`${CONNECTION_KEY}${id}`),
    });
    this.#apps = new AppRelay(this.#streamDeps());
    const sockets = ctx.getWebSockets();
    if (sockets.length > 0) log('gateway.woke', { connections: sockets.length });
    for (const socket of sockets) this.#restore(socket);
  }

  /** What a busy object counts within a minute may be lost with its memory. */
  #writeTotals(): void {
    if (Math.abs(Date.now() - this.#writtenMs) < TOTALS_PERIOD_MS) return;
    this.#writtenMs = Date.now();
    void this.ctx.storage.put(TOTALS_KEY, this.#awake.totals);
  }

  #closed(socket: WebSocket): void {
    this.#connections.get(socket)?.closed();
    this.#connections.delete(socket);
  }

  /** `state`: of a connection that the gateway has had before it slept. */
  #open(socket: WebSocket, id: string, hostId: number, state?: ConnectionState): void {
    const agentSocket: AgentSocket = {
      send: (data) => socket.send(data),
      close: (code, reason) => socket.close(code, reason),
      lastPulseMs: () => this.ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? null,
    };
    const attach = (now: ConnectionState) => socket.serializeAttachment({ id, hostId, ...now });
    this.#connections.set(socket, this.#gateway.open(agentSocket, hostId, id, attach, state));
  }

  #restore(socket: WebSocket): void {
    const attachment = socket.deserializeAttachment();
    if (isAttachment(attachment)) {
      const { id, hostId, ...state } = attachment;
      this.#open(socket, id, hostId, state);
    } else socket.close(closeCodes.resync.code, 'the gateway has restarted');
  }
}
