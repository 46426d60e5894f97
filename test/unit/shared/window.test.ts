/** Windows of channels: how they grow, and what they take of the memory that they share. */
import { expect, test } from 'vitest';
import {
  MAX_CHANNELS,
  MAX_WINDOW_BYTES,
  TERMINAL_WINDOW_BYTES,
  WINDOW_BYTES,
} from '../../../shared/streams/targets.ts';
import {
  CONNECTION_WINDOW_BYTES,
  LEAST_WINDOW_BYTES,
  leastGrant,
  Window,
  WindowMemory,
} from '../../../shared/streams/window.ts';

const MIB = 2 ** 20;

interface Flow {
  roundTripMs: number;
  /** What the connection carries, and what the reader takes. */
  linkBytesPerMs: number;
  readerBytesPerMs?: number;
  /** From then on the reader takes 100 bytes in a millisecond. */
  slowFromMs?: number;
  /** How long after it came the reader says that it has read something. */
  readerMs?: number;
  memory?: WindowMemory;
  isPassedOn?: true;
  mostBytes?: number;
}

/**
 * A sender that always has something, at the end of a connection. Returns the bytes that were read in all.
 */
function flow(
  {
    roundTripMs,
    linkBytesPerMs,
    readerBytesPerMs = Infinity,
    slowFromMs = Infinity,
    readerMs = 0,
    memory,
    isPassedOn,
    ...rest
  }: Flow,
  forMs: number,
) {
  let nowMs = 0;
  const link = { memory: memory ?? new WindowMemory(16 * MIB), nowMs: () => nowMs };
  const window = new Window({ ...link, ...(isPassedOn && { isPassedOn }) }, rest);
  let maySend = window.credit;
  const grants: { atMs: number; bytes: number }[] = [];
  const arrivals: { atMs: number; bytes: number }[] = [];
  const reads: { atMs: number; bytes: number }[] = [];
  let [here, read, isAllowed] = [0, 0, true];
  for (; nowMs < forMs; nowMs += 1) {
    while (grants[0] && grants[0].atMs <= nowMs) maySend += grants.shift()?.bytes ?? 0;
    const sent = Math.min(maySend, linkBytesPerMs);
    maySend -= sent;
    if (sent > 0) arrivals.push({ atMs: nowMs + roundTripMs / 2, bytes: sent });
    while (arrivals[0] && arrivals[0].atMs <= nowMs) {
      const { bytes } = arrivals.shift() ?? { bytes: 0 };
      isAllowed &&= window.receive(bytes);
      reads.push({ atMs: nowMs + readerMs, bytes });
    }
    while (reads[0] && reads[0].atMs <= nowMs) here += reads.shift()?.bytes ?? 0;
    const taken = Math.min(here, nowMs < slowFromMs ? readerBytesPerMs : 100);
    here -= taken;
    read += taken;
    const bytes = taken > 0 ? window.take(taken) : 0;
    if (bytes > 0) grants.push({ atMs: nowMs + roundTripMs / 2, bytes });
  }
  return { window, read, isAllowed };
}

test('P9: a window grows until a stream fills a distant connection, and hardly beyond what that carries', () => {
  const { window, isAllowed } = flow({ roundTripMs: 100, linkBytesPerMs: 20_000 }, 3_000);
  expect(isAllowed).toBe(true);
  // A round trip carries 2 MB.
  expect(window.bytes).toBeGreaterThan(2_000_000);
  expect(window.bytes).toBeLessThan(3_000_000);
  const { read } = flow({ roundTripMs: 100, linkBytesPerMs: 20_000 }, 10_000);
  expect(read).toBeGreaterThan(0.8 * 20_000 * 10_000);
});
test('P9: the way to the reader counts as well: one at the end of a distant connection of its own gets what that carries', () => {
  const { window, read } = flow({ roundTripMs: 1, linkBytesPerMs: 20_000, readerMs: 100 }, 10_000);
  expect(window.bytes).toBeGreaterThan(2_000_000);
  expect(read).toBeGreaterThan(0.8 * 20_000 * 10_000);
});
test('P9: a slow reader, and one at the end of a fast connection, keep small windows', () => {
  const slow = flow({ roundTripMs: 100, linkBytesPerMs: 20_000, readerBytesPerMs: 100 }, 5_000);
  expect(slow.window.bytes).toBeLessThanOrEqual(2 * WINDOW_BYTES);
  const near = flow({ roundTripMs: 2, linkBytesPerMs: 100_000 }, 2_000);
  expect(near.window.bytes).toBeLessThan(MIB);
});
test('P9: a window whose reader becomes slow gives its memory back, but nothing that it has granted', () => {
  const memory = new WindowMemory(16 * MIB);
  const far = { roundTripMs: 100, linkBytesPerMs: 20_000, memory, slowFromMs: 2_000 };
  const { window, isAllowed } = flow(far, 100_000);
  expect([isAllowed, window.bytes]).toEqual([true, WINDOW_BYTES]);
  expect(memory.freeBytes).toBe(16 * MIB - WINDOW_BYTES);
  const passedOn = flow({ ...far, memory: new WindowMemory(16 * MIB), isPassedOn: true }, 10_000);
  expect(passedOn.window.bytes).toBeGreaterThan(2_000_000);
});
test('P9: the longest window is 4 MiB, that of a terminal 256 KiB, and shorter where the memory is used', () => {
  const far = { roundTripMs: 400, linkBytesPerMs: 100_000 };
  expect(flow(far, 10_000).window.bytes).toBe(MAX_WINDOW_BYTES);
  expect(flow({ ...far, mostBytes: TERMINAL_WINDOW_BYTES }, 10_000).window.bytes).toBe(TERMINAL_WINDOW_BYTES);
  const memory = new WindowMemory(MIB);
  expect(flow({ ...far, memory }, 10_000).window.bytes).toBe(MIB);
  expect(memory.freeBytes).toBe(0);
  const within = new WindowMemory(16 * MIB, new WindowMemory(MIB / 2));
  expect(flow({ ...far, memory: within }, 10_000).window.bytes).toBe(MIB / 2);
});
test('P9, P251: with every reader stopped, a connection takes its memory and little more', () => {
  const memory = new WindowMemory(CONNECTION_WINDOW_BYTES);
  const all = Array.from({ length: 2 * MAX_CHANNELS }, () => new Window({ memory, nowMs: () => 0 }));
  const bytes = all.map((window) => window.credit);
  expect([bytes[0], bytes.at(-1)]).toEqual([WINDOW_BYTES, LEAST_WINDOW_BYTES]);
  expect(bytes).toEqual(bytes.toSorted((a, b) => b - a));
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(1.05 * CONNECTION_WINDOW_BYTES);
  for (const window of all) window.close();
  expect(memory.freeBytes).toBe(CONNECTION_WINDOW_BYTES);
});
test('P251: a window lets in what it has granted, and grants what was taken', () => {
  const window = new Window({ memory: new WindowMemory(16 * MIB), nowMs: () => 0 });
  expect([window.receive(WINDOW_BYTES - 1), window.receive(2)]).toEqual([true, false]);
  expect([window.credit, window.held]).toEqual([1, WINDOW_BYTES - 1]);
  expect(window.take(leastGrant(WINDOW_BYTES) - 1)).toBe(0);
  expect(window.take(1)).toBe(leastGrant(WINDOW_BYTES));
  expect([window.receive(leastGrant(WINDOW_BYTES) + 1), window.receive(1)]).toEqual([true, false]);
});
test('P9: what is here of a channel before counts in the window of the next', () => {
  const link = { memory: new WindowMemory(16 * MIB), nowMs: () => 0 };
  expect(new Window(link, { heldBytes: 10_000 }).credit).toBe(WINDOW_BYTES - 10_000);
  expect(new Window(link, { heldBytes: 2 * WINDOW_BYTES }).credit).toBe(0);
});
test('P174: whatever the window of a reader, and that of the gateway before it, the longest line fits in beside credit that is too little to grant', () => {
  // A line of 16 KiB with its end and its time, in a frame.
  const longest = 16 * 1024 + 64;
  for (let bytes = LEAST_WINDOW_BYTES; bytes <= MAX_WINDOW_BYTES; bytes += 10_000)
    expect(Math.min(bytes, WINDOW_BYTES) - leastGrant(bytes), `window ${bytes}`).toBeGreaterThanOrEqual(
      longest,
    );
});
