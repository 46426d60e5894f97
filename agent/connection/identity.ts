/**
 * Owns how the agent proves who it is: an Ed25519 key of its own, with which it registers once and signs a proof of a
 * minute for each connection (PROTOCOL.md P16 to P20).
 */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import { importJWK } from 'jose/key/import';
import { PROOF_ALGORITHM, PROOF_LIFE_S } from '../../shared/protocol/enrolment.ts';
import { type Config, ConfigError } from '../config.ts';
import { type Logger, messageOf } from '../logger.ts';
import { addKey, newKey, readKey, removeKey, type StoredKey, writeKey } from './key-file.ts';
import { RefusedError } from './refused-error.ts';
import { RegistrationRefusedError, register } from './registration.ts';

/** What the control plane said to a connection that it did not take. */
export interface ConnectionRefusal {
  status: number;
  reason?: 'revoked' | 'unknown-host' | undefined;
  /** Its clock, where it told. */
  timeMs?: number | undefined;
}

export interface Identity {
  /** Headers of one connection attempt. Throws Refused where there is no use in trying again. */
  headers(): Promise<Record<string, string>>;
  /** That attempt was refused; the next one may do better. */
  refused?(refusal: ConnectionRefusal): void;
}

/** Clocks that differ by less can't be why a proof was refused. */
const NOTABLE_SKEW_MS = 5_000;

export class HostIdentity implements Identity {
  readonly #config: Config;
  readonly #folder: string;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  #stored: StoredKey;
  /** Added to this machine's clock, which the control plane has found wrong. */
  #correctionMs = 0;
  #isNew = false;
  /** The control plane did not know the key: its database is another one, or an older copy. */
  #unknown = false;

  private constructor(config: Config, folder: string, key: StoredKey, log: Logger, nowMs: () => number) {
    this.#config = config;
    this.#folder = folder;
    this.#stored = key;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** With the key in the data folder, or a new one where there is a join token for it. Throws ConfigError. */
  static async open(config: Config, log: Logger, nowMs: () => number): Promise<HostIdentity> {
    const folder = `${config.dataDir}/${config.deployment}/identity`;
    let key = await readKey(folder);
    let isNew = false;
    // A key that was never registered makes no host either.
    if (!key?.hostId && config.joinToken === undefined) throw new ConfigError(noToken(folder));
    if (!key) {
      const generated = newKey(config.name);
      // Before it is registered: where the answer gets lost, the same key is shown again.
      key = await addKey(folder, generated);
      isNew = key === generated;
    }
    if (config.isNameGiven && key.name !== config.name) {
      // Nobody knows a key that was never registered.
      if (key.hostId !== null) throw new ConfigError(otherName(key.name, config.name, folder));
      key = { ...key, name: config.name };
      await writeKey(folder, key);
    }
    const identity = new HostIdentity(config, folder, key, log, nowMs);
    identity.#isNew = isNew;
    return identity;
  }

  /** What the host is called: by the setting when it was registered. */
  get name(): string {
    return this.#stored.name;
  }

  /** Whether there was no key before. */
  get isNew(): boolean {
    return this.#isNew;
  }

  get hostId(): number | null {
    return this.#stored.hostId;
  }

  async headers(): Promise<Record<string, string>> {
    const hostId = await this.#registeredId();
    const key = await importJWK(this.#stored.privateKey, PROOF_ALGORITHM);
    const nowS = Math.floor((this.#nowMs() + this.#correctionMs) / 1_000);
    const proof = await new SignJWT()
      .setProtectedHeader({ alg: PROOF_ALGORITHM })
      .setSubject(String(hostId))
      .setAudience(this.#config.deployment)
      .setJti(randomUUID())
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + PROOF_LIFE_S)
      .sign(key);
    return { Authorization: `Bearer ${proof}` };
  }

  refused({ status, reason, timeMs }: ConnectionRefusal): void {
    if (status !== 401) return;
    if (reason === 'unknown-host') this.#unknown = true;
    if (timeMs === undefined) return;
    const skewMs = this.#nowMs() - timeMs;
    this.#correctionMs = Math.abs(skewMs) > NOTABLE_SKEW_MS ? -skewMs : 0;
    if (this.#correctionMs === 0) return;
    const message = `this machine's clock differs by ${Math.round(skewMs / 1_000)} s from the control plane's: set it`;
    this.#log('clock.differs', { skewMs, reason: message });
  }

  /** Registers the host, if that was not done; resolves to its id. Throws Refused where the control plane will not have it. */
  async join(): Promise<number> {
    if (this.#stored.hostId !== null) return this.#stored.hostId;
    try {
      return await this.#register();
    } catch (error) {
      if (error instanceof RegistrationRefusedError) throw new RefusedError(error.message, { cause: error });
      throw error;
    }
  }

  /**
   * The host was removed: its key is good for nothing any more, and a join token makes a new one. One that can't be removed is
   * told to the log: why the agent ends counts for more.
   */
  async discard(): Promise<void> {
    await removeKey(this.#folder, this.#stored).catch((error: unknown) =>
      this.#log('key.removal-failed', { reason: messageOf(error) }),
    );
  }

  async #registeredId(): Promise<number> {
    const { hostId } = this.#stored;
    if (hostId === null) return this.join();
    if (!this.#unknown || this.#config.joinToken === undefined) return hostId;
    this.#unknown = false;
    try {
      return await this.#register();
    } catch (error) {
      // The token may have been used up long ago; the database may be changed back.
      this.#log('registration.failed', { reason: messageOf(error) });
      return hostId;
    }
  }

  async #register(): Promise<number> {
    const { url, joinToken, deployment } = this.#config;
    if (joinToken === undefined) throw new ConfigError(noToken(this.#folder));
    const { name, privateKey } = this.#stored;
    const { kty, crv, x } = privateKey;
    const hostId = await register(url, joinToken, { deployment, name, publicKey: { kty, crv, x } });
    const key = { ...this.#stored, hostId };
    // First: what only this process knew would be lost with it, and the token is good for an hour.
    await writeKey(this.#folder, key);
    this.#stored = key;
    this.#log('host.registered', { host: name, id: hostId });
    return hostId;
  }
}

const noToken = (folder: string) =>
  `There is no key of a host in ${folder} yet, and BERTH_JOIN_TOKEN is not set. An administrator makes a join token by ` +
  'POST host/token; start the agent once with it in BERTH_JOIN_TOKEN.';

const otherName = (registered: string, given: string, folder: string) =>
  `BERTH_AGENT_NAME is ${given}, but the key in ${folder} is that of the host ${registered}. Unset it or set it to ${registered}, or ` +
  'give this agent another BERTH_AGENT_DATA_DIR and a join token to make it another host.';
