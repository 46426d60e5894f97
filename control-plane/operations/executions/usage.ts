/** Reads what services use from the host of their last start, which keeps it (usage-lines.ts). */
import { MAX_USAGE_BYTES, readUsageLines, type UsagePoint } from '../../../shared/protocol/usage-lines.ts';
import { type Actor, authoriseOwned } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { LogSubscriber } from '../../core/streams/channel-subscriber.ts';
import type { ServiceView } from '../../core/views/execution-views.ts';
import { findState } from '../../store/executions/executions.ts';
import { logSubscriber } from '../access-review.ts';
import type { Context } from '../context.ts';
import { getServices, readableService } from './reads.ts';

/** The longest wait for a host that has lost its connection meanwhile, or that does not answer. */
const TIMEOUT_MS = 10_000;

export interface SeenUsage {
  /** The last start; null if its host has no samples of it. */
  startedAtMs: number | null;
  /** Oldest first, at most 120. */
  samples: readonly UsagePoint[];
}

export interface SeenServiceUsage {
  service: ServiceView;
  usage: SeenUsage | null;
  /** Why there is no usage now. */
  problem: string | null;
}

/** Throws `unavailable` if the host can't be asked. */
export async function readServiceUsage(
  context: Context,
  actor: Actor,
  id: number,
): Promise<{ service: ServiceView; usage: SeenUsage }> {
  const { account, service } = await readableService(context, actor, id);
  return { service, usage: await readUsage(context, logSubscriber(account, service.userId), id) };
}

/** The usage of the wanted services of an execution. A host that can't be asked hides no other. */
export async function listExecutionUsage(
  context: Context,
  actor: Actor,
  executionId: number,
  wanted: (services: readonly ServiceView[]) => readonly ServiceView[],
): Promise<{ services: ServiceView[]; usages: SeenServiceUsage[] }> {
  const state = await findState(context.db, executionId);
  const { account, ownerId } = authoriseOwned(actor, 'read-execution', state?.userId);
  const subscriber = logSubscriber(account, ownerId);
  const services = await getServices(context, actor, executionId);
  const usages = wanted(services).map(async (service): Promise<SeenServiceUsage> => {
    try {
      return { service, usage: await readUsage(context, subscriber, service.id), problem: null };
    } catch (error) {
      if (!(error instanceof OperationError) || error.code !== 'unavailable') throw error;
      return { service, usage: null, problem: error.message };
    }
  });
  return { services, usages: await Promise.all(usages) };
}

async function readUsage(
  { openLog }: Pick<Context, 'openLog'>,
  subscriber: LogSubscriber,
  serviceId: number,
): Promise<SeenUsage> {
  // The last start alone has a tail (log-relay.ts).
  const part = { follow: false, tail: 1 };
  const stream = await openLog(subscriber, serviceId, 'usage', undefined, part);
  const text = await textOf(stream);
  if (text === '') return { startedAtMs: null, samples: [] };
  const usage = readUsageLines(text);
  if (!usage) throw new OperationError('unavailable', 'The host sent an invalid usage of the service.');
  return { startedAtMs: usage.startedAtMs, samples: usage.points };
}

/** The text of a stream that is short and soon over. */
async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const timer = setTimeout(() => {
    void reader.cancel().catch(() => {});
    timedOut.reject(noAnswer());
  }, TIMEOUT_MS);
  const timedOut = Promise.withResolvers<never>();
  timedOut.promise.catch(() => {});
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), timedOut.promise]);
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      if (text.length <= MAX_USAGE_BYTES) continue;
      void reader.cancel().catch(() => {});
      return text;
    }
  } catch (error) {
    if (error instanceof OperationError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationError('unavailable', `The usage of the service can't be read: ${reason}.`);
  } finally {
    clearTimeout(timer);
  }
}

const noAnswer = () =>
  new OperationError(
    'unavailable',
    `The host did not send the usage of the service within ${TIMEOUT_MS / 1_000} s. Try again.`,
  );
