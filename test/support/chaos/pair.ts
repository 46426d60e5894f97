/** Two control planes of one deployment, of which one is active: finds the active one, as a client does. */
import { setTimeout as pause } from 'node:timers/promises';
import { RestClient } from '../clients/rest-client.ts';
import type { ProgramPart } from './parts.ts';

export interface Member {
  part: ProgramPart;
  url: string;
  api: RestClient;
}

const REQUEST_TIMEOUT_MS = 5_000;
const POLL_MS = 100;

/** A client that goes to the other control plane if one is away or a standby. */
export class PairClient extends RestClient {
  readonly #apis: readonly RestClient[];
  /** The one that answered last. */
  #preferred: RestClient | undefined;

  constructor(members: readonly Member[], username: string, password: string) {
    super(members[0]?.url ?? '', username, password);
    this.#apis = members.map(({ api }) => api);
  }

  /**
   * Tries each once. A refusal by a standby has no effect, so the other one may be tried; after a lost answer
   * the caller must find out by itself whether the request had an effect.
   */
  override async request(path: string, init: RequestInit = {}): Promise<Response> {
    const others = this.#apis.filter((api) => api !== this.#preferred);
    let last: Response | undefined;
    for (const api of this.#preferred ? [this.#preferred, ...others] : others) {
      let response: Response;
      try {
        response = await api.request(path, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), ...init });
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        continue;
      }
      if (response.status !== 503) {
        this.#preferred = api;
        return response;
      }
      last = response;
    }
    if (last) return last;
    throw new Error(`no control plane answers ${path}`);
  }
}

/** True if nothing was sent, because nobody listens. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';

/** Waits until a control plane is ready, and returns it. */
export async function activeOf(members: readonly Member[], timeoutMs: number): Promise<Member> {
  const untilMs = performance.now() + timeoutMs;
  do {
    for (const member of members) if (await isReady(member)) return member;
    await pause(POLL_MS);
  } while (performance.now() < untilMs);
  throw new Error(`no control plane became ready within ${timeoutMs} ms`);
}

const isReady = ({ url }: Member): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Waits until an agent is connected to the control plane. */
export async function agentReturns({ url }: Member, timeoutMs: number): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  do {
    const answer = await fetch(`${url}/api/0.7/statistics/scheduler`);
    if (((await answer.json()) as { hosts: { connected: number } }).hosts.connected > 0) return;
    await pause(POLL_MS);
  } while (performance.now() < untilMs);
  throw new Error(`no agent connected within ${timeoutMs} ms`);
}
