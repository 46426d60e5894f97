/**
 * Verifies passwords by a bind at a directory (LDAP). Names are escaped, every step has a bound on time and
 * size, and passwords leave this process only over a connection that the settings allow.
 */

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../coordinator/ports.ts';
import { OperationError } from '../core/model/errors.ts';
import type { PasswordSource } from '../operations/passwords/password-source.ts';
import { type Connection, openConnection } from './connection.ts';
import { filled, filledFor } from './escaping.ts';
import type { GroupSearch, LdapAddress, LdapConfig } from './ldap-settings.ts';

/** Failures in a row are one line of the log in this time. */
const REPORT_MS = 60_000;
const MAX_REASON_LENGTH = 300;
/** A user with more is refused. Their names must fit into what one verification reads. */
const MAX_GROUPS = 400;

type Work<T> = (connection: Connection) => Promise<T>;

export interface Directory extends PasswordSource {
  close(): void;
}

/** Reads the authorities, and connects to nothing yet: Berth starts whether or not the directory runs. */
export async function openDirectory(config: LdapConfig, log: Logger): Promise<Directory> {
  const { caFile } = config;
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
  return new LdapDirectory(config, ca, log);
}

class LdapDirectory implements Directory {
  readonly maxRunning: number;
  readonly #config: LdapConfig;
  readonly #ca: string | undefined;
  readonly #log: Logger;
  readonly #pool: ConnectionPool;
  readonly #servers: Servers;
  readonly #refusals = new RefusalTimes();
  /** When a failure was last reported, while the directory fails. */
  #reportedMs: number | undefined;

  constructor(config: LdapConfig, ca: string | undefined, log: Logger) {
    this.#config = config;
    this.#ca = ca;
    this.#log = log;
    this.maxRunning = config.connections;
    this.#pool = new ConnectionPool(config.connections);
    this.#servers = new Servers(config.servers, () => performance.now());
  }

  async verify(username: string | undefined, password: string): Promise<boolean> {
    if (password === '') return false;
    const beganMs = performance.now();
    const isRight = await this.#run((connection) => this.#verifyBy(connection, username, password));
    const tookMs = performance.now() - beganMs;
    if (username === undefined) await pause(Math.max(0, this.#refusals.sample(Math.random()) - tookMs));
    else if (!isRight) this.#refusals.add(tookMs);
    return isRight;
  }

  async groupsOf(username: string): Promise<string[]> {
    const { groups } = this.#config;
    return groups ? this.#run((connection) => this.#groupsBy(connection, groups, username)) : [];
  }

  close(): void {
    this.#pool.close();
  }

  /** Within the time-out. Rejects with `unavailable` if no server answers. */
  async #run<T>(work: Work<T>): Promise<T> {
    const { timeoutMs } = this.#config;
    const ended = new AbortController();
    const timer = setTimeout(
      () => ended.abort(new Error(`The directory has not answered within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    try {
      const result = await this.#attempt(work, ended.signal);
      this.#succeeded();
      return result;
    } catch (error) {
      this.#failed(error);
      throw new OperationError(
        'unavailable',
        'The directory that verifies this password does not answer. Try again later; the administrator finds the cause in the log of the control plane.',
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** By a kept connection, if there is one. The directory may have closed it by now, so then by a new one. */
  async #attempt<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
    const kept = this.#pool.take();
    if (kept) {
      try {
        // The server of this one may have ended, too, so that time must be left for others.
        const { servers, timeoutMs } = this.#config;
        const own = servers.length === 1 ? signal : shareOf(signal, timeoutMs / (servers.length + 1));
        return await this.#use(kept, work, own);
      } catch (error) {
        if (signal.aborted) throw error;
      }
    }
    return this.#attemptAnew(work, signal);
  }

  /** By the first server that answers. One that does not must leave time for those after it. */
  async #attemptAnew<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
    const untilMs = performance.now() + this.#config.timeoutMs;
    const servers = this.#servers.inOrder();
    for (const [at, address] of servers.entries()) {
      const left = servers.length - at;
      const own = left === 1 ? signal : shareOf(signal, Math.max(1, (untilMs - performance.now()) / left));
      try {
        const result = await this.#use(await openConnection(address, this.#ca, own), work, own);
        this.#servers.worked(address);
        return result;
      } catch (error) {
        this.#servers.failed(address);
        if (left === 1 || signal.aborted) throw error;
        this.#serverFailed(address, error);
      }
    }
    throw new Error('there is always a server');
  }

  async #use<T>(connection: Connection, work: Work<T>, signal: AbortSignal): Promise<T> {
    try {
      const result = await connection.use(signal, () => work(connection));
      this.#pool.give(connection);
      return result;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #verifyBy(connection: Connection, username: string | undefined, password: string): Promise<boolean> {
    const dn = await this.#find(connection, username ?? nobody());
    const isAccepted = await connection.accepts(dn ?? this.#nobodysDn(), password);
    return isAccepted && username !== undefined && dn !== undefined;
  }

  async #groupsBy(
    connection: Connection,
    { base, filter }: GroupSearch,
    username: string,
  ): Promise<string[]> {
    const dn = await this.#find(connection, username);
    if (dn === undefined) return [];
    if (this.#config.naming.by === 'template') await this.#bindReader(connection);
    const { timeoutMs } = this.#config;
    const found = await connection.find(base, filledFor(filter, dn, username), timeoutMs, MAX_GROUPS + 1);
    // The first row of the table that applies could be among those that are left out.
    if (found.length > MAX_GROUPS) throw new Error(`The user has more than ${MAX_GROUPS} groups.`);
    return found;
  }

  async #bindReader(connection: Connection): Promise<void> {
    const { reader } = this.#config;
    if (!reader) await connection.bindAnonymously();
    else if (!(await connection.accepts(reader.dn, reader.password)))
      throw new Error('The directory refuses the name or the password of BERTH_LDAP_OPTIONS.bindDn.');
  }

  /** The distinguished name of the user; undefined if there is none, or if there are several. */
  async #find(connection: Connection, username: string): Promise<string | undefined> {
    const { naming, timeoutMs } = this.#config;
    if (naming.by === 'template') return filled(naming.userDn, username);
    const { base, filter } = naming;
    await this.#bindReader(connection);
    const [dn, another] = await connection.find(base, filled(filter, username), timeoutMs, 2);
    if (another === undefined) return dn;
    this.#log('directory.ambiguous', { filter, reason: 'several entries match one name' });
    return undefined;
  }

  /** A bind without an entry takes a refusal as long as one with a wrong password. */
  #nobodysDn(): string {
    const { naming } = this.#config;
    return naming.by === 'template' ? filled(naming.userDn, nobody()) : `cn=${nobody()},${naming.base}`;
  }

  /** Another server is asked next. */
  #serverFailed({ host, port }: LdapAddress, error: unknown): void {
    this.#log('directory.server-failed', { server: `${host}:${port}`, reason: reasonOf(error) });
  }

  #failed(error: unknown): void {
    const nowMs = performance.now();
    if (this.#reportedMs !== undefined && nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = nowMs;
    this.#log('directory.failed', { reason: reasonOf(error) });
  }

  #succeeded(): void {
    if (this.#reportedMs !== undefined) this.#log('directory.recovered', {});
    this.#reportedMs = undefined;
  }
}

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON_LENGTH);

/** Ends with `signal`, or after `ms`. */
function shareOf(signal: AbortSignal, ms: number): AbortSignal {
  const share = AbortSignal.timeout(Math.round(ms));
  return AbortSignal.any([signal, share]);
}

const nobody = (): string => `berth${randomBytes(8).toString('hex')}`;

/** Directories and firewalls close idle connections after minutes. */
const IDLE_MS = 60_000;

interface Idle {
  connection: Connection;
  timer: NodeJS.Timeout;
}

/** Connections to the directory that are kept for the next verification. Its caller bounds those in use. */
class ConnectionPool {
  readonly #max: number;
  #idle: Idle[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** The one that was used last; undefined if none is left. */
  take(): Connection | undefined {
    const last = this.#idle.pop();
    if (!last) return undefined;
    clearTimeout(last.timer);
    return last.connection.isOpen ? last.connection : this.take();
  }

  give(connection: Connection): void {
    this.#idle = this.#idle.filter((one) => one.connection.isOpen);
    if (!connection.isOpen) return;
    if (this.#idle.length >= this.#max) {
      connection.close();
      return;
    }
    const timer = setTimeout(() => connection.close(), IDLE_MS);
    timer.unref();
    this.#idle.push({ connection, timer });
  }

  close(): void {
    for (const { connection } of this.#idle) connection.close();
  }
}

const MAX_TIMES = 32;

/**
 * How long the directory has lately taken to refuse a password of a user. A name that nobody has is refused
 * after such a time too, since a directory may hash passwords of entries only (H557).
 */
export class RefusalTimes {
  #times: number[] = [];

  add(ms: number): void {
    this.#times = [...this.#times.slice(1 - MAX_TIMES), ms];
  }

  /** One of them in milliseconds, by chance; 0 if there is none yet. `chance`: at least 0, below 1. */
  sample(chance: number): number {
    return this.#times[Math.floor(chance * this.#times.length)] ?? 0;
  }
}

/** A server that has failed is tried after the others for so long. */
const FAILED_MS = 30_000;

/** The servers of the directory: tried in the order of the setting, those that have just failed last. */
export class Servers {
  readonly #addresses: readonly LdapAddress[];
  readonly #nowMs: () => number;
  readonly #failedMs = new Map<LdapAddress, number>();

  constructor(addresses: readonly LdapAddress[], nowMs: () => number) {
    this.#addresses = addresses;
    this.#nowMs = nowMs;
  }

  /** All servers, in the order in which they are to be tried. */
  inOrder(): LdapAddress[] {
    const sinceMs = this.#nowMs() - FAILED_MS;
    const hasFailed = (one: LdapAddress) => (this.#failedMs.get(one) ?? Number.NEGATIVE_INFINITY) > sinceMs;
    return [...this.#addresses.filter((one) => !hasFailed(one)), ...this.#addresses.filter(hasFailed)];
  }

  failed(address: LdapAddress): void {
    this.#failedMs.set(address, this.#nowMs());
  }

  worked(address: LdapAddress): void {
    this.#failedMs.delete(address);
  }
}
