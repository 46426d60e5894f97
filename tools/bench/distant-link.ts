/** A link of some length to an address (programs/distant-relay.ts). */
import { startProgram } from '../../test/support/hosts/process.ts';

export interface Link {
  roundTripMs: number;
  /** Each way. Default: no bound. */
  megabytesPerS?: number;
}

export async function startLink(
  { address, port }: { address: string; port: number },
  { roundTripMs, megabytesPerS }: Link,
): Promise<AsyncDisposable & { port: number }> {
  const words = [address, port, roundTripMs / 2, ...(megabytesPerS === undefined ? [] : [megabytesPerS])];
  const relay = startProgram(['tools/bench/programs/distant-relay.ts', ...words.map(String)]);
  const [, outerPort] = await relay.waitFor(/port (\d+)/);
  return { port: Number(outerPort), [Symbol.asyncDispose]: () => relay.kill() };
}
