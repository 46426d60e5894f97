/**
 * Lease: how long this host may run its assignments without contact (P32). After that the control plane may
 * start them elsewhere. Contact is an answered exchange; its time is when the agent sent its message. The
 * time is stored in a file, because the next agent process may be the one that detects the expiry. Never
 * stops anything itself.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { type IdRange, idRangeSchema } from '../../shared/protocol/assignment.ts';
import { type Logger, messageOf } from '../logger.ts';

/** A moment on two clocks: the uptime, which is never set and includes sleep, and the wall clock. */
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
  /**
   * The lease has expired. Called once until there is contact again. The `unknown` services are left alone
   * (P30).
   */
  onExpired(unknown: readonly IdRange[]): void;
  log: Logger;
}

export const LEASE_CHECK_MS = 1000;
/** The contact in the file may be out of date by this much. */
const WRITE_EVERY_MS = 5000;
/**
 * A wall clock past the lease has two possible causes: the clock was set, or the whole machine was paused (a
 * virtual machine). The lease waits this long for an answer before it trusts the wall clock. Longer than a
 * report period.
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

  /** True if the lease has expired without contact since. */
  get hasExpired(): boolean {
    return this.#hasExpired;
  }

  now(): Moment {
    return this.#options.now();
  }

  /** Applies the lease of a welcome, or its absence. `sent` is the time of the hello. */
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

  /** Sets the services that a sync left alone. */
  setUnknown(unknown: readonly IdRange[]): void {
    if (!this.#record) return;
    this.#record.unknown = [...unknown];
    this.#writtenMs = Number.NEGATIVE_INFINITY;
  }

  /** A message that was sent at `sent` was answered. */
  confirm(sent: Moment): void {
    const record = this.#record;
    if (!record || sent.uptimeMs < record.contact.uptimeMs) return;
    record.contact = sent;
    this.#hasExpired = false;
    this.#doubtSinceMs = undefined;
    if (sent.uptimeMs - this.#writtenMs >= WRITE_EVERY_MS) this.#write(sent);
  }

  /** Must be called about every second, and before any work begins. */
  check(): void {
    const record = this.#record;
    if (!record || this.#hasExpired || !this.#isExpired(record)) return;
    this.#hasExpired = true;
    this.#options.onExpired(record.unknown);
  }

  #isExpired({ contact, leaseMs }: LeaseRecord): boolean {
    const { uptimeMs, wallMs } = this.now();
    if (uptimeMs - contact.uptimeMs >= leaseMs) return true;
    // After a reboot no container runs, and the uptime has restarted.
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

  /**
   * A full disk must not end the agent, which could then stop nothing. This process holds its lease in
   * memory, and each answer retries the write.
   */
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
