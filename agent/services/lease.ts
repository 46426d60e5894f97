/**
 * Owns how long this host may run what it was told to without contact (PROTOCOL.md P32): what a control plane that hears
 * nothing starts elsewhere must not run here any more. Contact is an exchange that was answered, as of when it began. It is
 * kept in a file, since another process may be the one that finds it too long ago. Never stops anything itself.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { type IdRange, idRangeSchema } from '../../shared/protocol/assignment.ts';
import { type Logger, messageOf } from '../logger.ts';

/** By the clock that runs on while the machine sleeps and that nobody sets, and by the one on the wall. */
const momentSchema = z.object({ uptimeMs: z.number(), wallMs: z.number() });
export type Moment = z.infer<typeof momentSchema>;

const recordSchema = z.object({
  leaseMs: z.number().positive(),
  contact: momentSchema,
  unknown: z.array(idRangeSchema),
});
type LeaseRecord = z.infer<typeof recordSchema>;

export interface LeaseOptions {
  file: string;
  now(): Moment;
  /** The lease has passed; called once until there is contact again. `unknown` is left alone (P30). */
  onExpired(unknown: readonly IdRange[]): void;
  log: Logger;
}

export const LEASE_CHECK_MS = 1000;
/** On the disk contact may be as much older. */
const WRITE_EVERY_MS = 5000;
/**
 * The wall clock alone may have been set, or it alone may know that the whole machine stood still (a paused virtual one):
 * before it is believed, an answer may still come. Longer than a report period.
 */
const DOUBT_MS = 15_000;

export class Lease {
  readonly #options: LeaseOptions;
  #record: LeaseRecord | undefined;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #doubtSinceMs: number | undefined;
  #hasExpired = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#record = read(options.file);
  }

  get leaseMs(): number | undefined {
    return this.#record?.leaseMs;
  }

  /** Whether it has passed, and there was no contact since. */
  get hasExpired(): boolean {
    return this.#hasExpired;
  }

  now(): Moment {
    return this.#options.now();
  }

  /** A welcome tells the lease, or that there is none, in answer to a hello. */
  replace(leaseMs: number | undefined, sent: Moment): void {
    this.#hasExpired = false;
    this.#doubtSinceMs = undefined;
    this.#writtenMs = Number.NEGATIVE_INFINITY;
    if (leaseMs === undefined) {
      this.#record = undefined;
      this.#persist(() => rmSync(this.#options.file, { force: true }));
      return;
    }
    this.#record = { leaseMs, contact: sent, unknown: this.#record?.unknown ?? [] };
    this.#write(sent);
  }

  /** What a sync says is to be left alone. */
  setUnknown(unknown: readonly IdRange[]): void {
    if (!this.#record) return;
    this.#record.unknown = [...unknown];
    this.#writtenMs = Number.NEGATIVE_INFINITY;
  }

  /** What was sent then was answered. */
  confirm(sent: Moment): void {
    const record = this.#record;
    if (!record || sent.uptimeMs < record.contact.uptimeMs) return;
    record.contact = sent;
    this.#hasExpired = false;
    this.#doubtSinceMs = undefined;
    if (sent.uptimeMs - this.#writtenMs >= WRITE_EVERY_MS) this.#write(sent);
  }

  /** To be called every second or so, and before anything is begun. */
  check(): void {
    const record = this.#record;
    if (!record || this.#hasExpired || !this.#isExpired(record)) return;
    this.#hasExpired = true;
    this.#options.onExpired(record.unknown);
  }

  #isExpired({ contact, leaseMs }: LeaseRecord): boolean {
    const { uptimeMs, wallMs } = this.now();
    if (uptimeMs - contact.uptimeMs >= leaseMs) return true;
    // After a reboot nothing runs any more, and its own clock has begun anew.
    if (wallMs - contact.wallMs < leaseMs) {
      this.#doubtSinceMs = undefined;
      return false;
    }
    this.#doubtSinceMs ??= uptimeMs;
    return uptimeMs - this.#doubtSinceMs >= DOUBT_MS;
  }

  #write({ uptimeMs }: Moment): void {
    const { file } = this.#options;
    this.#persist(() => {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, JSON.stringify(this.#record));
      renameSync(`${file}.new`, file);
      this.#writtenMs = uptimeMs;
    });
  }

  /** A full disk ends no agent, which would stop nothing then: this process knows its lease, and tries again with each answer. */
  #persist(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#options.log('lease.write-failed', { reason: messageOf(error) });
    }
  }
}

function read(file: string): LeaseRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
