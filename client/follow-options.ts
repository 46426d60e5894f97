/** What every method that takes a while has in common: it can be aborted, and reports its troubles. */
import { setTimeout as wait } from 'node:timers/promises';

export interface FollowOptions {
  /** Ends it: the method throws the reason of the signal. What happens in the cluster goes on. */
  signal?: AbortSignal | undefined;
  /** Called with the reason when Berth can't be reached for now. The method goes on by itself. */
  trouble?: ((message: string) => void) | undefined;
}

/** Throws the reason of the signal once that is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => signal?.throwIfAborted());
}
