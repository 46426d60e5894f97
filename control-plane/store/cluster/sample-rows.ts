/** Rows of samples: what the charts of the last hour show (WEB-10). */
import type { SavedSample } from '../../core/views/history.ts';
import type { Db } from '../db/db.ts';
import { type Epoch, fence } from '../db/epoch.ts';

/** All samples, the oldest first. */
export async function loadSamples(db: Db): Promise<SavedSample[]> {
  const rows = await db.query('SELECT kind, time_ms, content FROM samples ORDER BY time_ms');
  return rows.map(({ kind, time_ms, content }) => ({
    kind: kind as SavedSample['kind'],
    atMs: Number(time_ms),
    content: String(content),
  }));
}

export interface SampleWrites {
  samples: readonly SavedSample[];
  /** By how much the clock was set since the last writes. */
  movedMs: number;
  /** Rows before this moment go, and those after that one, which a failed call may have written. */
  fromMs: number;
  savedMs: number;
}

export async function writeSamples(db: Db, epoch: Epoch, writes: SampleWrites): Promise<void> {
  const { samples, movedMs, fromMs, savedMs } = writes;
  await db.batch([
    fence(epoch),
    ...(movedMs === 0 ? [] : [{ sql: 'UPDATE samples SET time_ms = time_ms + ?', args: [movedMs] }]),
    { sql: 'DELETE FROM samples WHERE time_ms < ? OR time_ms > ?', args: [fromMs, savedMs] },
    ...samples.map(({ kind, atMs, content }) => ({
      sql: 'INSERT INTO samples (kind, time_ms, content) VALUES (?, ?, ?)',
      args: [kind, atMs, content],
    })),
  ]);
}
