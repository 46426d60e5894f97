/** Two control planes of one deployment, of which one is active: finds the active one, as a client does. */
import type { IncomingMessage } from 'node:http';
import { ApiClient } from '../clients/api-client.ts';
import { HttpClient, type Reply } from '../clients/http-client.ts';
import { eventually } from '../tools/eventually.ts';
import type { ProgramPart } from './parts.ts';

export interface Member {
  part: ProgramPart;
  url: string;
  api: ApiClient;
}

const REQUEST_TIMEOUT_MS = 5_000;

/** A client that goes to the other control plane if one is away or a standby. */
export class PairClient extends ApiClient {
  override readonly http: HttpClient;

  constructor(members: readonly Member[], username: string, password: string) {
    super(members[0]?.url ?? '', username, password);
    this.http = new PairHttp(members.map(({ api }) => api.http));
  }
}

class PairHttp extends HttpClient {
  readonly #clients: readonly HttpClient[];
  /** The one that answered last. */
  #preferred: HttpClient | undefined;

  constructor(clients: readonly HttpClient[]) {
    super(() => '');
    this.#clients = clients;
  }

  override send(
    method: string,
    path: string,
    body?: string | readonly Uint8Array[],
    signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  ): Promise<Reply> {
    return this.#first(
      (client) => client.send(method, path, body, signal),
      ({ status }) => status,
    );
  }

  override open(method: string, path: string): Promise<IncomingMessage> {
    return this.#first(
      (client) => client.open(method, path),
      ({ statusCode = 0 }) => statusCode,
    );
  }

  /**
   * Tries each once. A refusal by a standby has no effect, so the other one may be tried; after a lost answer
   * the caller must find out by itself whether the request had an effect.
   */
  async #first<T>(ask: (client: HttpClient) => Promise<T>, statusOf: (answer: T) => number): Promise<T> {
    const others = this.#clients.filter((client) => client !== this.#preferred);
    let last: T | undefined;
    for (const client of this.#preferred ? [this.#preferred, ...others] : others) {
      let answer: T;
      try {
        answer = await ask(client);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        continue;
      }
      if (statusOf(answer) !== 503) {
        this.#preferred = client;
        return answer;
      }
      last = answer;
    }
    if (last) return last;
    throw new Error('no control plane answers');
  }
}

/** True if nothing was sent, because nobody listens. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';

/** Waits until a control plane is ready, and returns it. */
export async function activeOf(members: readonly Member[], timeoutMs: number): Promise<Member> {
  return eventually(async () => {
    for (const member of members) if (await isReady(member)) return member;
    throw new Error(`no control plane became ready within ${timeoutMs} ms`);
  }, timeoutMs);
}

const isReady = ({ url }: Member): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Waits until an agent is connected to the control plane. */
export async function agentReturns({ url }: Member, timeoutMs: number): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${url}/api/0.7/statistics/scheduler`);
    return ((await answer.json()) as { hosts: { connected: number } }).hosts.connected > 0;
  }, timeoutMs);
}
