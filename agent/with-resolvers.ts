/**
 * Promise.withResolvers for Node 20, which lacks it. The agent's bundle must run on Node 20, the version of
 * Debian 13 (INST-3).
 */

export interface Resolvers<T> {
  promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
}

/** Same as Promise.withResolvers. */
export function withResolvers<T>(): Resolvers<T> {
  const resolvers = {} as Resolvers<T>;
  resolvers.promise = new Promise<T>((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
}
