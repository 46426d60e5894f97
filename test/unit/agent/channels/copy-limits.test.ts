/** Bounds of copies on a host, with copies that a test controls. */
import { expect, test } from 'vitest';
import { CopyLimits } from '../../../../agent/channels/copy-limits.ts';
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import { outputOf, target } from '../../../support/fixtures/targets.ts';

const MIB = 2 ** 20;
const into = { kind: 'files-in' } as const;
const out = { kind: 'files-out' } as const;

/** A copy that ends once it is disconnected, and what it was given. */
function copy(pieces: Piece[] = []) {
  const over = Promise.withResolvers<void>();
  const taken: number[] = [];
  const one = target({
    output: outputOf(pieces, over.promise),
    write: async ({ length }) => void taken.push(length),
    end: () => over.resolve(),
    destroy: () => over.resolve(),
  });
  return { taken, connect: async () => one };
}

function limits({ maxCopies = 2, maxBytes = 100 * MIB } = {}) {
  const disk: { low: string | undefined } = { low: undefined };
  return { disk, copies: new CopyLimits({ maxCopies, maxBytes, lowDisk: async () => disk.low }) };
}

/** Rejects with the reason of a copy that is broken off. */
async function outcome({ output }: Target): Promise<number> {
  let bytes = 0;
  for await (const piece of output) bytes += piece.bytes.length;
  return bytes;
}

test('P311: a host has so many copies at once in both directions; one more is refused until another is over', async () => {
  const { copies } = limits();
  const first = await copies.open(into, copy().connect);
  await copies.open(out, copy().connect);
  const more = copies.open(out, copy().connect);
  await expect(more).rejects.toThrow('2 copies under way, which is its maximum (BERTH_LIMITS.copies)');
  await copies.open({ kind: 'exec' }, copy().connect);
  first.destroy();
  first.destroy();
  await copies.open(into, copy().connect);
  await expect(copies.open(into, copy().connect)).rejects.toThrow('2 copies under way');
});

test('P311: a copy that can not begin counts no longer', async () => {
  const { copies, disk } = limits({ maxCopies: 1 });
  const fails = async () => {
    throw new Error('the service is not running');
  };
  await expect(copies.open(into, fails)).rejects.toThrow('not running');
  disk.low = '0.5 GiB free at /disk';
  await expect(copies.open(into, copy().connect)).rejects.toThrow('nearly full (0.5 GiB free at /disk)');
  await copies.open(out, copy().connect);
});

test('P312: a copy ends with the reason at the byte that exceeds the maximum, which the container never gets', async () => {
  const { copies } = limits({ maxBytes: MIB });
  const { connect, taken } = copy();
  const opened = await copies.open(into, connect);
  const end = outcome(opened);
  await opened.write(new Uint8Array(MIB));
  await opened.write(new Uint8Array(1));
  await opened.write(new Uint8Array(1));
  await expect(end).rejects.toThrow('more than 1.0 MiB, the maximum of its host (BERTH_LIMITS.copyBytes)');
  expect(taken).toEqual([MIB]);
  const large = copy([{ bytes: new Uint8Array(MIB) }, { bytes: new Uint8Array(1) }]);
  await expect(copies.open(out, large.connect).then(outcome)).rejects.toThrow('more than 1.0 MiB');
});

test('P312: a copy of exactly the maximum passes', async () => {
  const { copies } = limits({ maxBytes: MIB });
  const whole = await copies.open(out, copy([{ bytes: new Uint8Array(MIB) }]).connect);
  whole.end();
  expect(await outcome(whole)).toBe(MIB);
});

test('P313: a copy into a service ends once the disk is low, within 8 MiB', async () => {
  const { copies, disk } = limits();
  const { connect, taken } = copy();
  const opened = await copies.open(into, connect);
  const end = outcome(opened);
  for (let n = 0; n < 20; n += 1) await opened.write(new Uint8Array(MIB));
  expect(taken).toHaveLength(20);
  disk.low = '1.0 GiB free at /disk';
  for (let n = 0; n < 20; n += 1) await opened.write(new Uint8Array(MIB));
  await expect(end).rejects.toThrow('the disk of the host is nearly full (1.0 GiB free at /disk)');
  expect(taken.length).toBeLessThan(28);
});
