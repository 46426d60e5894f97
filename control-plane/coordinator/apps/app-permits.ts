/**
 * Permits of requests to web applications: all requests of a session to one port of a service share one,
 * since a page makes many requests, and each permit is a line of the audit log. A permit that ends, ends them
 * all.
 */
import type { RequestHead } from '../../../shared/streams/app-heads.ts';
import { appDeed } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import { appStreamsOfHost, appStreamsOfUser } from '../../core/model/stream-rules.ts';
import type { AppRequest } from '../../core/streams/app-request.ts';
import { AgentPipe } from '../streams/agent-pipe.ts';
import type { ChannelAddress } from '../streams/placement.ts';
import { followStream } from '../streams/stream-placement.ts';
import type { StreamSessionDeps } from '../streams/stream-session.ts';

export type AppRelayDeps = StreamSessionDeps;

/** The start that the permit is for, and the connection of its host. */
interface Place {
  generation: number;
  at: ChannelAddress;
}

/** Requests beyond those that may be under way wait so long. */
export const WAIT_MS = 5_000;
/** A permit without a request is kept for so long. */
export const KEEP_MS = 60_000;
const RETRY_AFTER_S = 2;

/** The connection or the start that the permit is for is gone. */
export class StalePermit extends Error {
  override name = 'StalePermit';
}

export class AppPermits {
  readonly #deps: AppRelayDeps;
  readonly #permits = new Map<string, AppPermit>();

  constructor(deps: AppRelayDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#permits.size;
  }

  /** The permit of the request, and whether it was obtained just now. */
  of(request: AppRequest): { permit: AppPermit; isNew: boolean } {
    const key = keyOf(request);
    const found = this.#permits.get(key);
    if (found) return { permit: found, isNew: false };
    const usedByUser = () => this.#usedBy(request.subscriber.userId, request.hostId);
    const permit: AppPermit = new AppPermit(request, this.#deps, usedByUser, () => {
      if (this.#permits.get(key) === permit) this.#permits.delete(key);
    });
    this.#permits.set(key, permit);
    return { permit, isNew: true };
  }

  /** Undefined unless the coordinator has granted a permit for the request that has not ended. */
  granted(request: AppRequest): AppPermit | undefined {
    const found = this.#permits.get(keyOf(request));
    return found?.isGranted ? found : undefined;
  }

  #usedBy(userId: number, hostId: number): number {
    let streams = 0;
    for (const permit of this.#permits.values())
      if (permit.userId === userId && permit.hostId === hostId) streams += permit.streams;
    return streams;
  }
}

const keyOf = ({ subscriber, serviceId, hostId, port }: AppRequest): string =>
  JSON.stringify([subscriber, serviceId, hostId, port]);

export class AppPermit {
  readonly userId: number;
  readonly hostId: number;
  readonly #deps: AppRelayDeps;
  readonly #service: number;
  readonly #port: number;
  /** Its requests alone share connections to the application. */
  readonly #client = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  readonly #usedByUser: () => number;
  readonly #over: () => void;
  readonly #place = Promise.withResolvers<Place>();
  readonly #leavePlacement: () => void;
  readonly #pipes = new Set<AgentPipe>();
  /** Places of streams that are in use, and requests that wait for one. */
  #used = 0;
  readonly #waiting = new Set<() => void>();
  #ended: OperationError | undefined;
  #isGranted = false;
  #cancelKeeping = () => {};

  /** `usedByUser`: streams of all permits of the user at the host. `over`: called once, at the end. */
  constructor(request: AppRequest, deps: AppRelayDeps, usedByUser: () => number, over: () => void) {
    this.userId = request.subscriber.userId;
    this.hostId = request.hostId;
    this.#deps = deps;
    this.#usedByUser = usedByUser;
    this.#service = request.serviceId;
    this.#port = request.port;
    this.#over = over;
    this.#place.promise.catch(() => {});
    const entry = { ...request.doer, ...appDeed(this.#port) };
    this.#leavePlacement = followStream(deps, request, entry, {
      placed: ({ at, generation }) => {
        if (!at) return;
        this.#isGranted = true;
        this.#place.resolve({ generation, at });
      },
      ended: (reason) => this.#end(reason),
    });
  }

  get streams(): number {
    return this.#pipes.size;
  }

  /** From the grant by the coordinator to its end. */
  get isGranted(): boolean {
    return this.#isGranted && !this.#ended;
  }

  /** Opens a channel for a request. Throws OperationError, or StalePermit if another permit may do better. */
  async open(
    head: RequestHead,
    { isUpgrade, hasBody }: { isUpgrade: boolean; hasBody: boolean },
    signal?: AbortSignal,
  ): Promise<AgentPipe> {
    await this.#use(signal);
    let pipe: AgentPipe | undefined;
    try {
      const place = await this.#place.promise;
      const channels = await this.#deps.channelsAt(place.at);
      if (this.#ended) throw this.#ended;
      if (!channels) throw new StalePermit('The host has lost its connection.');
      if (channels.streams >= appStreamsOfHost(this.#deps.rules))
        throw busy('The host has as many requests to applications under way as it can have');
      const ofUser = appStreamsOfUser(this.#deps.rules);
      if (this.#usedByUser() >= ofUser)
        throw busy(`You have ${ofUser} requests to applications of this host under way`);
      pipe = new AgentPipe({
        clock: this.#deps.clock,
        times: this.#deps.rules,
        over: () => this.#left(pipe),
      });
      this.#pipes.add(pipe);
      const key = { service: this.#service, generation: place.generation };
      const port = this.#port;
      if (isUpgrade) pipe.begin(channels, key, { kind: 'websocket', port, head });
      else
        pipe.begin(
          channels,
          key,
          { kind: 'http', port, head, client: this.#client },
          hasBody ? undefined : true,
        );
      return pipe;
    } catch (error) {
      if (pipe) pipe.close();
      else this.#free();
      throw error;
    }
  }

  /** Ends all requests for this reason. */
  end(reason: string): void {
    this.#end(new OperationError('unavailable', reason));
  }

  /** Takes a place of a stream, and waits for one if need be. */
  async #use(signal: AbortSignal | undefined): Promise<void> {
    this.#cancelKeeping();
    const { appRequests, waitingAppRequests } = this.#deps.rules;
    if (this.#used < appRequests) {
      this.#used += 1;
      return;
    }
    const full = () => busy(`You have ${appRequests} requests to this application under way`);
    if (this.#waiting.size >= waitingAppRequests) throw full();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const given = () => resolve();
    const leave = (error: OperationError) => {
      this.#waiting.delete(given);
      reject(error);
    };
    const cancelTimer = this.#deps.clock.after(WAIT_MS, () => leave(full()));
    const gone = () => leave(new OperationError('unavailable', 'The request was given up.'));
    this.#waiting.add(given);
    signal?.addEventListener('abort', gone);
    await promise.finally(() => {
      cancelTimer();
      signal?.removeEventListener('abort', gone);
    });
    if (this.#ended) {
      this.#free();
      throw this.#ended;
    }
  }

  #left(pipe: AgentPipe | undefined): void {
    if (pipe && this.#pipes.delete(pipe)) this.#free();
  }

  /** Gives the place to the request that has waited longest. */
  #free(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#used -= 1;
    if (this.#used > 0 || this.#ended) return;
    this.#cancelKeeping = this.#deps.clock.after(KEEP_MS, () => this.end('No request has come for a while.'));
  }

  #end(reason: OperationError): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.#cancelKeeping();
    this.#place.reject(reason);
    this.#leavePlacement();
    this.#over();
    for (const pipe of [...this.#pipes]) pipe.close(reason.message);
    for (const given of [...this.#waiting]) given();
  }
}

const busy = (what: string) =>
  new OperationError('unavailable', `${what}, which is the most. Try again in a moment.`, {
    retryAfterS: RETRY_AFTER_S,
  });
