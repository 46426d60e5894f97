/** Which answers to give up because their clients do not read them. Pure. */

export interface UnreadAnswer {
  address: string;
  bytes: number;
}

/**
 * The answers that must go so that the others have at most `limit` bytes: of the addresses that have more
 * than their share, the first ones given.
 */
export function unreadBeyond<A extends UnreadAnswer>(answers: Iterable<A>, limit: number): A[] {
  const owners = [...Map.groupBy(answers, ({ address }) => address).values()]
    .map((own) => ({ own, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) }))
    .sort((a, b) => a.bytes - b.bytes);
  const gone: A[] = [];
  let free = limit;
  for (const [at, owner] of owners.entries()) {
    // What an address leaves of its share is for those that have more.
    const share = free / (owners.length - at);
    let { bytes } = owner;
    for (const answer of owner.own) {
      if (bytes <= share) break;
      gone.push(answer);
      bytes -= answer.bytes;
    }
    free -= bytes;
  }
  return gone;
}
