/**
 * A steady load of submissions to a control plane that may be unavailable, and a record of its
 * acknowledgements.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Application } from '../../../shared/application-schema.ts';
import type { ApiClient } from '../clients/api-client.ts';
import type { Reply } from '../clients/http-client.ts';
import { script } from '../fixtures/descriptions.ts';
import { pickOne } from '../tools/random.ts';

const PERIOD_MS = 400;
const REQUEST_TIMEOUT_MS = 5_000;

/** Each container appends its id to a file, so that a test can count every start (accounts.ts). */
const MARK =
  'grep -o "containers/[0-9a-f]*" /proc/self/mountinfo | head -n 1 >> /mnt/marks/$EXECUTION_ID-$SERVICE_NAME';

export class SteadyLoad {
  /** Names of the acknowledged submissions, by execution id. */
  readonly accepted = new Map<number, string>();
  /** Names of submissions without a definite answer. */
  readonly unsure = new Set<string>();
  /** Executions whose termination was requested: a request without an answer may have had its effect. */
  readonly toTerminate = new Set<number>();
  readonly #api: ApiClient;
  readonly #kinds: readonly Application['services'][];
  readonly #random: () => number;

  /** `marks` is a folder of the host; containers see it as /mnt/marks. */
  constructor(api: ApiClient, marks: string, random: () => number) {
    this.#api = api;
    this.#random = random;
    const volumes = [{ name: 'marks', path: marks, read_only: false }];
    const idle = `${MARK}; exec sleep 1000`;
    this.#kinds = [
      [script(`${MARK}; echo output; sleep 0.3`, { volumes })],
      [script(`${MARK}; echo output; exit 3`, { volumes })],
      [script(idle, { volumes })],
      [
        script(`${MARK}; sleep 1`, { volumes }),
        script(idle, { volumes, name: 'side', monitor: false, total_count: 2, essential_count: 1 }),
      ],
    ];
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n++) {
      await this.#submit(`run-${n}`, this.#kinds[n % this.#kinds.length] ?? []);
      if (n % 4 === 3) await this.#terminateOne();
      await pause(PERIOD_MS);
    }
  }

  async #submit(name: string, services: Application['services']): Promise<void> {
    const application: Application = { name: 'chaos', version: 3, will_end: true, size: 1, services };
    try {
      const body = JSON.stringify({ name, application });
      const reply = await this.#send('POST', 'execution', body);
      if (reply.status === 200) this.accepted.set(reply.json<{ execution_id: number }>().execution_id, name);
      else this.unsure.add(name);
    } catch {
      this.unsure.add(name);
    }
  }

  async #terminateOne(): Promise<void> {
    const ids = [...this.accepted.keys()].filter((id) => !this.toTerminate.has(id));
    const id = pickOne(this.#random, ids);
    if (id === undefined) return;
    this.toTerminate.add(id);
    try {
      await this.#send('DELETE', `execution/${id}`);
    } catch {
      // The test terminates all executions again at its end.
    }
  }

  #send(method: string, path: string, body?: string): Promise<Reply> {
    return this.#api.http.send(method, path, body, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
  }
}
