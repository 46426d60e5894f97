/**
 * Files whose bytes all answers share while one of them is being sent: clients that read nothing would
 * otherwise hold as many copies of a megabyte as they have connections.
 */
import type { Bytes } from '../../http/files.ts';

/** `read` must fail for all but a fixed set of names. */
export function sharedFiles<B extends Bytes>(read: (name: string) => Promise<B>): typeof read {
  const sent = new Map<string, WeakRef<B>>();
  const reads = new Map<string, Promise<B>>();
  const readOnce = async (name: string): Promise<B> => {
    try {
      const bytes = await read(name);
      sent.set(name, new WeakRef(bytes));
      return bytes;
    } finally {
      reads.delete(name);
    }
  };
  return async (name) => {
    const bytes = sent.get(name)?.deref();
    if (bytes) return bytes;
    const present = reads.get(name);
    if (present) return present;
    const begun = readOnce(name);
    reads.set(name, begun);
    return begun;
  };
}
