/**
 * Verifies passwords by a bind at a directory (LDAP). Names are escaped, every step has a bound on time and
 * size, and passwords leave this process only over a connection that the settings allow.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../coordinator/ports.ts';
import { OperationError } from '../core/model/errors.ts';
import type { PasswordSource } from '../operations/passwords/password-source.ts';
import type { Connection } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { filled } from './escaping.ts';
import type { LdapConfig } from './ldap-settings.ts';
import { openConnection } from './sockets.ts';

/** Failures in a row are one line of the log in this time. */
const REPORT_MS = 60_000;
const MAX_REASON_LENGTH = 300;

export interface Directory extends PasswordSource {
  close(): void;
}

/** Reads the authorities, and connects to nothing yet: Berth starts whether or not the directory runs. */
export async function openDirectory(config: LdapConfig, log: Logger): Promise<Directory> {
  const { caFile } = config.address;
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
  return new LdapDirectory(config, ca, log);
}

class LdapDirectory implements Directory {
  readonly maxRunning: number;
  readonly #config: LdapConfig;
  readonly #ca: string | undefined;
  readonly #log: Logger;
  readonly #pool: ConnectionPool;
  /** When a failure was last reported, while the directory fails. */
  #reportedMs: number | undefined;

  constructor(config: LdapConfig, ca: string | undefined, log: Logger) {
    this.#config = config;
    this.#ca = ca;
    this.#log = log;
    this.maxRunning = config.connections;
    this.#pool = new ConnectionPool(config.connections);
  }

  async verify(username: string | undefined, password: string): Promise<boolean> {
    if (password === '') return false;
    const { timeoutMs } = this.#config;
    const ended = new AbortController();
    const timer = setTimeout(
      () => ended.abort(new Error(`The directory has not answered within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    try {
      const isRight = await this.#attempt(username, password, ended.signal);
      this.#succeeded();
      return isRight;
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

  close(): void {
    this.#pool.close();
  }

  /** By a kept connection, if there is one. The directory may have closed it by now, so then by a new one. */
  async #attempt(username: string | undefined, password: string, signal: AbortSignal): Promise<boolean> {
    const kept = this.#pool.take();
    if (kept) {
      try {
        return await this.#verifyBy(kept, username, password, signal);
      } catch (error) {
        if (signal.aborted) throw error;
      }
    }
    const fresh = await openConnection(this.#config.address, this.#ca, signal);
    return this.#verifyBy(fresh, username, password, signal);
  }

  async #verifyBy(
    connection: Connection,
    username: string | undefined,
    password: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const isRight = await connection.use(signal, async () => {
        const dn = await this.#find(connection, username ?? nobody());
        const isAccepted = await connection.accepts(dn ?? this.#nobodysDn(), password);
        return isAccepted && username !== undefined && dn !== undefined;
      });
      this.#pool.give(connection);
      return isRight;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** The distinguished name of the user; undefined if there is none, or if there are several. */
  async #find(connection: Connection, username: string): Promise<string | undefined> {
    const { naming, timeoutMs } = this.#config;
    if (naming.by === 'template') return filled(naming.userDn, username);
    const { reader, base, filter } = naming;
    if (!reader) await connection.bindAnonymously();
    else if (!(await connection.accepts(reader.dn, reader.password)))
      throw new Error('The directory refuses the name or the password of BERTH_LDAP_BIND_DN.');
    const [dn, another] = await connection.find(base, filled(filter, username), timeoutMs);
    if (another === undefined) return dn;
    this.#log('directory.ambiguous', { filter, reason: 'several entries match one name' });
    return undefined;
  }

  /** A bind without an entry takes a refusal as long as one with a wrong password. */
  #nobodysDn(): string {
    const { naming } = this.#config;
    return naming.by === 'template' ? filled(naming.userDn, nobody()) : `cn=${nobody()},${naming.base}`;
  }

  #failed(error: unknown): void {
    const nowMs = performance.now();
    if (this.#reportedMs !== undefined && nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = nowMs;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log('directory.failed', { reason: reason.slice(0, MAX_REASON_LENGTH) });
  }

  #succeeded(): void {
    if (this.#reportedMs !== undefined) this.#log('directory.recovered', {});
    this.#reportedMs = undefined;
  }
}

const nobody = (): string => `berth${randomBytes(8).toString('hex')}`;
