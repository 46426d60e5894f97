/**
 * Stream check: bytes arrive in order, every stream ends for its client with a reason,
 * bounds hold and are free again afterwards, and nothing stays open at an agent (C302 to C307).
 */

import type { StreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { type ChannelTarget, MAX_WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { numberOf, type StreamTarget } from '../machine/stream-target.ts';
import type { Link } from '../world/network.ts';
import type { Process, World } from '../world/time.ts';

/** A stream as the check knows it. */
export interface KnownStream {
  readonly kind: ChannelTarget['kind'];
  /** Its number, which no other stream of the run has. */
  readonly port: number;
  readonly service: number;
  readonly userId: number;
  /** The control plane that relays it. */
  readonly process: Process;
  readonly beganMs: number;
  /** Null while it is open. */
  endedMs: number | null;
  /** When its request for a permit was answered; null until then. */
  answeredMs: number | null;
  /** True while it has a permit. */
  readonly isHeld: boolean;
}

/** How much longer than its longest time a stream may be open. */
const SLACK_MS = 30_000;
/** By then a coordinator in another process has noticed that a stream is over. */
const REMOTE_MS = 3_000;
/** No two streams have the same bytes. */
export function bytesOf(salt: number, from: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = byteAt(salt, from + at);
  return bytes;
}
const byteAt = (salt: number, at: number): number => (salt * 31 + at * 7 + (at >> 8)) & 0xff;
/** Bytes of the client have another salt. */
export const clientSalt = (port: number): number => port + 101;

/** How reasons begin that stand for a fault. */
const FAULTS = [
  ['The host has lost its connection', 'fault: a host loses its connection with streams open'],
  ['More bytes were sent', 'fault: a client sends beyond its credit'],
] as const;
const IDLE = /carried nothing for/;
const FULL = /^(You have|The service has|The host of the service has|All users together have) (\d+) streams/;

export class StreamCheck {
  readonly world: World;
  readonly rules: StreamRules;
  readonly #streams: KnownStream[] = [];
  readonly #targets = new Set<StreamTarget>();
  /** Bytes that each port has sent. */
  readonly #sent = new Map<number, number>();
  /** Those whose last byte ends the stream, and those that report in the end that something is missing. */
  readonly #finished = new Set<number>();
  readonly #broken = new Set<number>();
  /** Bytes of each file that a container has made of a copy. */
  readonly #stored = new Map<number, number>();
  readonly #isRemote: boolean;
  /** The connection that each stream was opened on, by its port. */
  readonly #links = new Map<number, Link>();
  /** Open streams whose connection had ended at the last look. */
  readonly #stranded = new Set<KnownStream>();

  /** `isRemote`: permits are in another process than streams, which learns of their ends later. */
  constructor(world: World, rules: StreamRules, isRemote: boolean) {
    this.#isRemote = isRemote;
    this.world = world;
    this.rules = rules;
  }

  /** What is still open although it should not be. */
  open(): string[] {
    const targets = [...this.#targets].filter(({ owner }) => owner?.alive);
    const streams = this.#streams.filter(({ endedMs }) => endedMs === null);
    return [
      ...streams.map(({ port }) => `stream ${port} is open`),
      ...(targets.length > 0 ? [`agents have ${targets.length} streams open`] : []),
    ];
  }

  began(stream: KnownStream): void {
    this.#streams.push(stream);
    this.world.count('stream: requested');
  }

  /** A stream has got its permit. */
  permitted({ process, userId, service }: KnownStream): void {
    const { inTotal, perUser, perService } = this.rules;
    if (this.#isRemote) return;
    // A permit that has ended is free at once, and its stream a moment later.
    this.world.after(0, () => {
      const held = this.#streams.filter((one) => one.isHeld && one.process === process);
      const counts = [
        [held.length, inTotal],
        [held.filter((one) => one.userId === userId).length, perUser],
        [held.filter((one) => one.service === service).length, perService],
      ] as const;
      for (const [count, limit] of counts)
        if (count > limit) this.world.violate(`${count} streams are open, ${limit} at most are allowed`);
    });
  }

  opened(stream: KnownStream): void {
    this.world.count('stream: opened');
    const mostMs = this.rules.totalMs + SLACK_MS;
    this.world.after(mostMs, () => {
      if (stream.endedMs === null && stream.process.alive)
        this.world.violate(`stream ${stream.port} is open ${mostMs} ms after it was opened`);
    });
  }

  /** Looks at an open stream, once a second. It ends with the connection of its host. */
  look(stream: KnownStream): void {
    const link = this.#links.get(stream.port);
    if (!link || link.isHeld) return;
    if (this.#stranded.has(stream))
      this.world.violate(`stream ${stream.port} goes on without ${link.name}, which has ended`);
    this.#stranded.add(stream);
  }

  /** The client has left, or its control plane has ended. */
  gone(stream: KnownStream, why: string): void {
    if (stream.endedMs !== null) return;
    stream.endedMs = this.world.nowMs;
    this.world.count(`stream: ${why}`);
    this.world.note(`stream ${stream.port}: ${why}`);
  }

  /** `reason`: what the client was told; undefined if it is complete. */
  ended(stream: KnownStream, reason: string | undefined): void {
    if (stream.endedMs !== null) return;
    stream.endedMs = this.world.nowMs;
    this.world.count(`stream: ended ${reason === undefined ? 'complete' : 'with a reason'}`);
    if (reason === undefined) this.world.count(`stream: complete, ${stream.kind}`);
    this.world.note(`stream ${stream.port} ends: ${reason ?? 'complete'}`);
    if (reason === '') this.world.violate(`stream ${stream.port} ends without a reason`);
    if (reason !== undefined && IDLE.test(reason) && this.#finished.has(stream.port))
      this.world.violate(`stream ${stream.port} waits for the end of what its service has sent: ${reason}`);
    for (const [sentence, fault] of FAULTS) if (reason?.startsWith(sentence)) this.world.count(fault);
    const [, whose = '', limit = ''] = FULL.exec(reason ?? '') ?? [];
    if (limit === '') return;
    this.world.count('stream: refused for a bound');
    // Those that have ended since the request may have counted, and those whose permit came after their end.
    const sinceMs = stream.beganMs - (this.#isRemote ? REMOTE_MS : 0);
    const others = this.#streams.filter(
      (one) =>
        one !== stream && (this.#isRemote || one.process === stream.process) && holdsUntilMs(one) >= sinceMs,
    );
    const counted = others.filter((one) => sharesBound(whose, one, stream)).length;
    if (counted < Number(limit))
      this.world.violate(`stream ${stream.port} is refused beside ${counted} others: ${reason}`);
  }

  /** A target has the bytes of a client. */
  taken(port: number, from: number, bytes: Uint8Array): void {
    this.world.count('stream: bytes to a service', bytes.length);
    this.#assertOrder(clientSalt(port), from, bytes, `stream ${port}, at the service`);
  }

  /** A client has received bytes. `unread`: those of which no mark was returned. */
  received(port: number, from: number, bytes: Uint8Array, unread: number): void {
    this.world.count('stream: bytes to a client', bytes.length);
    this.#assertOrder(port, from, bytes, `stream ${port}, at the client`);
    if (unread > MAX_WINDOW_BYTES)
      this.world.violate(`stream ${port}: the client has ${unread} bytes unread`);
  }

  /** A target has sent so many bytes in all. `endsStream`: nothing follows but the end. */
  sent(
    port: number,
    total: number,
    { endsStream, isWhole }: { endsStream: boolean; isWhole: boolean },
  ): void {
    this.#sent.set(port, total);
    if (endsStream) this.#finished.add(port);
    if (!isWhole) this.#broken.add(port);
  }

  /** A client has received so many bytes in all, and their end. */
  complete(port: number, received: number): void {
    this.world.count('stream: output ended');
    const sent = this.#sent.get(port) ?? 0;
    if (sent !== received) this.world.violate(`stream ${port} ends with ${received} of ${sent} bytes`);
    if (this.#broken.has(port)) this.world.violate(`stream ${port} ends well, but its command has failed`);
  }

  /** A container has made a file of so many bytes. */
  stored(port: number, bytes: number): void {
    this.#stored.set(port, bytes);
  }

  /** A client was told that all its bytes, so many, are copied. */
  copied(port: number, wanted: number): void {
    const stored = this.#stored.get(port);
    if (stored !== wanted) this.world.violate(`stream ${port} has copied ${stored} of ${wanted} bytes`);
  }

  connected(port: number, target: StreamTarget): void {
    this.world.count('stream: connected');
    this.#targets.add(target);
    // A new coordinator does not count the streams of the last one, which end a moment later.
    const perHost = this.rules.perHost * (this.#isRemote ? 2 : 1);
    // One whose stream has ended meanwhile is disconnected at once.
    this.world.after(0, () => {
      const count = [...this.#targets].filter(({ owner }) => owner === target.owner).length;
      if (count > perHost)
        this.world.violate(`stream ${port}: an agent has ${count} streams, more than ${perHost}`);
    });
  }

  disconnected(target: StreamTarget): void {
    this.#targets.delete(target);
  }

  /** The channel of a stream is opened on that connection. */
  carried(link: Link, target: ChannelTarget): void {
    this.#links.set(numberOf(target), link);
  }

  #assertOrder(salt: number, from: number, bytes: Uint8Array, where: string): void {
    for (let at = 0; at < bytes.length; at++)
      if (bytes[at] !== byteAt(salt, from + at)) {
        this.world.violate(`${where}: byte ${from + at} is not the one that was sent`);
        return;
      }
  }
}

/**
 * Without a forged message nothing that an agent sends on an open channel is refused. A gateway that has
 * slept does not know the channels of before.
 */
export function checkRefusal(world: World, event: string, what: unknown): void {
  if (event !== 'agent.report-refused' || !/credit of a channel|unexpected channel/.test(String(what)))
    return;
  if ([...world.counts.keys()].some((counted) => counted.startsWith('forged: '))) return;
  world.violate(`an agent as it should be is refused: ${what}`);
}

/** Until when it may count for bounds. */
const holdsUntilMs = ({ endedMs, answeredMs }: KnownStream): number =>
  Math.max(endedMs ?? Number.POSITIVE_INFINITY, answeredMs ?? Number.POSITIVE_INFINITY);

/** A service may have moved since its host was looked up, so that the bound of a host is judged by all. */
function sharesBound(whose: string, one: KnownStream, other: KnownStream): boolean {
  if (whose === 'You have') return one.userId === other.userId;
  return whose !== 'The service has' || one.service === other.service;
}
