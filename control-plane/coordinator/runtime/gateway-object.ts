/**
 * A gateway on workerd: one Durable Object for some hundred hosts, with their agents on hibernatable
 * WebSockets. What it needs to know about a connection after it has slept is attached to the socket.
 */
import { DurableObject } from 'cloudflare:workers';
import { closeCodes } from '../../../shared/protocol/close.ts';
import { assemble } from '../../assembly.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { MIB } from '../../core/model/bounds.ts';
import { holdMs } from '../../core/model/host.ts';
import type { AgentConnection } from '../agents/agent-connection.ts';
import { inTime } from '../gateways/batch-sender.ts';
import { type EntryCounts, Gateway, NO_ENTRIES } from '../gateways/gateway.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import type { AgentSocket } from '../ports.ts';
import { PROOF_HEADER } from './forward-upgrade.ts';
import { MESSAGE_COSTS, objectClock } from './object-clock.ts';
import { coordinatorStub, type ObjectBindings } from './object-stubs.ts';

/** Attached to each socket. */
interface Attachment extends EntryCounts {
  id: string;
  hostId: number;
}

/** Another version of this program may have attached something else. */
function isAttachment(value: unknown): value is Attachment {
  const { id, hostId, up, delivered, down } = (value ?? {}) as Partial<Attachment>;
  return typeof id === 'string' && [hostId, up, delivered, down].every(Number.isSafeInteger);
}

export class GatewayObject extends DurableObject<ObjectBindings> {
  readonly #gateway: Gateway;
  readonly #connections = new Map<WebSocket, AgentConnection>();
  readonly #hostsPerGateway: number;

  constructor(ctx: DurableObjectState, env: ObjectBindings) {
    super(ctx, env);
    const { config, scheduling, log } = assemble(env);
    this.#hostsPerGateway = config.BERTH_HOSTS_PER_GATEWAY;
    this.#gateway = new Gateway({
      clock: objectClock,
      log,
      messageAllowance: { maxBytes: config.BERTH_MAX_HOST_MESSAGES_MIB * MIB, costs: MESSAGE_COSTS },
      maxWaitingLength: config.BERTH_MAX_GATEWAY_MIB * MIB,
      holdMs: holdMs(scheduling.lostAfterMs),
      up: (batch) => coordinatorStub(env).up(batch),
    });
    const sockets = ctx.getWebSockets();
    if (sockets.length > 0) log('gateway.woke', { connections: sockets.length });
    for (const socket of sockets) this.#restore(socket);
  }

  /** Accepts an agent's upgrade request, which the Worker has forwarded (forward-upgrade.ts). */
  override async fetch(request: Request): Promise<Response> {
    const proof = JSON.parse(request.headers.get(PROOF_HEADER) ?? '') as VerifiedProof;
    const gateway = gatewayOf(proof.hostId, this.#hostsPerGateway);
    const admission = await inTime(coordinatorStub(this.env).admit(gateway, proof), objectClock);
    if ('code' in admission) return Response.json(admission);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#open(server, { id: admission.value, hostId: proof.hostId, ...NO_ENTRIES });
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    this.#connections.get(socket)?.receive(typeof data === 'string' ? data : new Uint8Array(data));
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

  /** A batch from the coordinator (Gateway.down). */
  down(incarnation: string, batch: Portion<string>[]): Rejected {
    return this.#gateway.down(incarnation, batch);
  }

  /** For a reader of a log in the Worker (Gateway.openLog). */
  openLog(...args: Parameters<Gateway['openLog']>): ReturnType<Gateway['openLog']> {
    return this.#gateway.openLog(...args);
  }

  /** For a reader that leaves (Gateway.closeLog). */
  closeLog(reader: string): void {
    this.#gateway.closeLog(reader);
  }

  #closed(socket: WebSocket): void {
    this.#connections.get(socket)?.closed();
    this.#connections.delete(socket);
  }

  #open(socket: WebSocket, { id, hostId, ...counts }: Attachment): void {
    const agentSocket: AgentSocket = {
      send: (data) => socket.send(data),
      close: (code, reason) => socket.close(code, reason),
    };
    const attach = (now: EntryCounts) => socket.serializeAttachment({ id, hostId, ...now });
    attach(counts);
    this.#connections.set(socket, this.#gateway.open(agentSocket, hostId, id, attach, counts));
  }

  #restore(socket: WebSocket): void {
    const attachment = socket.deserializeAttachment();
    if (isAttachment(attachment)) this.#open(socket, attachment);
    else socket.close(closeCodes.resync.code, 'the gateway has restarted');
  }
}
