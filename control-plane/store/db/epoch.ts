/**
 * The coordinator's epoch: the database accepts writes with the latest claimed epoch, and refuses those with
 * an earlier one (COORD-3).
 */

import { isSameSighting, type Sighting } from '../../core/state/takeover-watch.ts';
import { DatabaseError, type Db, type Row, type Statement } from './db.ts';

/** Number of a claim. The database refuses transactions with an earlier one. */
export type Epoch = number;

/** How a coordinator claims its epochs. */
export interface ClaimTerms {
  /** True if the holder moves the counter (coordinator/epoch/heartbeat.ts). */
  isBeating?: boolean;
  /** True if the holder gives up its state, and so its agents, when a standby may have taken over. */
  yields?: boolean;
  /** For a coordinator that has slept: the epoch that it holds, and the name under which it holds it. */
  resumes?: Holding;
  /**
   * Called before each takeover, but not before a coordinator that has slept goes on. Rejects if this program
   * must not use the database.
   */
  prepare?(): Promise<void>;
  /** What a standby saw last of the earlier coordinator. The first claim fails if it has moved since. */
  seen?: Sighting;
}

export interface Holding {
  name: string;
  epoch: Epoch;
}

export interface Claimant extends ClaimTerms {
  /** Unique: each coordinator generates its own, and keeps it while it sleeps. */
  name: string;
  /** True if this coordinator held an epoch before, and lost its state. */
  hasHeld: boolean;
}

/**
 * Claims the next epoch, after which earlier coordinators cannot commit. The database may carry out a claim
 * late, after its answer was lost. Each claim therefore names the epoch before it, and fails if a later one
 * exists.
 */
export async function claimEpoch(db: Db, claimant: Claimant): Promise<Epoch> {
  const { name, hasHeld, isBeating, seen } = claimant;
  const [held = {}] = await db.query('SELECT epoch, holder, beats, beating_epoch FROM coordinator');
  const hasMoved = seen !== undefined && !isSameSighting(sightingOf(held), seen);
  if (hasHeld ? held.holder !== name : hasMoved) throw new DatabaseError('constraint', SUPERSEDED);
  const epoch = Number(held.epoch) + 1;
  const claimed = await db.query(
    'UPDATE coordinator SET epoch = ?, writer = ?, holder = ?, beating_epoch = ? WHERE epoch = ? RETURNING epoch',
    [epoch, epoch, name, isBeating ? epoch : null, epoch - 1],
  );
  if (claimed.length === 0)
    throw new DatabaseError('unavailable', 'another control plane has taken over at the same moment');
  return epoch;
}

/** Claims the next epoch for the coordinator that holds this one. False: another has claimed one since. */
export async function claimNextEpoch(db: Db, { name, epoch }: Holding): Promise<boolean> {
  const claimed = await db.query(
    'UPDATE coordinator SET epoch = ?, writer = ? WHERE epoch = ? AND holder = ? RETURNING epoch',
    [epoch + 1, epoch + 1, epoch, name],
  );
  return claimed.length > 0;
}

/**
 * First statement of a transaction: the transaction fails if a later coordinator has taken over. While none
 * has, `writer` is the epoch already, and the statement changes no row: a commit writes one page less.
 */
export const fence = (epoch: Epoch): Statement => ({
  sql: 'UPDATE coordinator SET writer = ? WHERE writer <> ?',
  args: [epoch, epoch],
});

/** A heartbeat: moves the counter that a standby watches. Fails if a later coordinator has taken over. */
export const beat = (epoch: Epoch): Statement => ({
  sql: 'UPDATE coordinator SET writer = ?, beats = beats + 1',
  args: [epoch],
});

/**
 * Makes the coordinator read its state again before its next commit, for a program that writes beside it. The
 * holder stays.
 */
export const outdateCoordinator: Statement = {
  sql: `UPDATE coordinator SET epoch = epoch + 1, writer = epoch + 1,
    beating_epoch = iif(beating_epoch = epoch, epoch + 1, NULL)`,
  args: [],
};

/** Whether a coordinator other than `name` has claimed the latest epoch. */
export async function hasOtherHolder(db: Db, name: string): Promise<boolean> {
  const [held] = await db.query('SELECT holder FROM coordinator');
  return held?.holder !== name;
}

/** True if a claim found that a later coordinator has taken over. */
export const isSuperseded = (error: unknown): boolean =>
  error instanceof DatabaseError && error.message === SUPERSEDED;

/** What a standby sees of the coordinator that holds the epoch. */
export async function readSighting(db: Db): Promise<Sighting> {
  const [held = {}] = await db.query('SELECT epoch, beats, beating_epoch FROM coordinator');
  return sightingOf(held);
}

const sightingOf = ({ epoch, beats, beating_epoch }: Row): Sighting => ({
  epoch: Number(epoch),
  beats: Number(beats),
  isBeating: epoch === beating_epoch,
});

/**
 * True if the database refused a transaction because its epoch is not the latest. Nothing of it was written.
 */
export const isStale = (error: unknown): boolean =>
  error instanceof DatabaseError && error.message.includes(STALE);

/** Name of the constraint that refuses statements of an earlier epoch. */
const STALE = 'stale_coordinator';
const SUPERSEDED = 'the coordinator has another holder';
