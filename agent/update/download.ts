/** Fetches a bundle from the control plane, as the installation does. */
import { AGENT_BUNDLE, MAX_AGENT_BUNDLE_BYTES } from '../../shared/protocol/release.ts';
import { endpoint } from '../connection/registration.ts';

const TIMEOUT_MS = 60_000;

/** Throws an error with the cause if the bundle can't be had, or is too large. */
export async function downloadBundle(controlPlane: URL, signal: AbortSignal): Promise<Uint8Array> {
  const url = endpoint(controlPlane, `/agent/${AGENT_BUNDLE}`);
  const answer = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    if (bytes > MAX_AGENT_BUNDLE_BYTES)
      throw new Error(`${url} is larger than ${MAX_AGENT_BUNDLE_BYTES / 2 ** 20} MiB`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
