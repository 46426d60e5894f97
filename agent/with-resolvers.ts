/** Owns what promises lack on Node 20, for which the agent's bundle is made: Debian 13 has that one. */

export interface Resolvers<T> {
  promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
}

/** As Promise.withResolvers, which Node 22 brought. */
export function withResolvers<T>(): Resolvers<T> {
  const resolvers = {} as Resolvers<T>;
  resolvers.promise = new Promise<T>((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
}
