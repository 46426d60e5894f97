/**
 * Host identity: an Ed25519 key with which the agent registers once, and then signs a proof for each
 * connection. Each proof is valid for one minute (P16 to P20, CONT-4).
 */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import { importJWK } from 'jose/key/import';
import { PROOF_ALGORITHM, PROOF_LIFE_S } from '../../shared/protocol/enrolment.ts';
import { type Config, ConfigError } from '../config.ts';
import { type Logger, messageOf } from '../logger.ts';
import { addKey, newKey, readKey, removeKey, type StoredKey, writeKey } from './key-file.ts';
import { RefusedError } from './refused-error.ts';
import { RegistrationRefusedError, registerAtAny } from './registration.ts';

/** The control plane's answer to a refused connection. */
export interface ConnectionRefusal {
  status: number;
  reason?: 'revoked' | 'unknown-host' | undefined;
  /** The control plane's time, if the answer has it. */
  timeMs?: number | undefined;
}

export interface Identity {
  /**
   * Headers of one connection attempt, or of one request for `audience`. Throws RefusedError if retrying is
   * useless.
   */
  headers(audience?: string): Promise<Record<string, string>>;
  /** Keeps the id of the engine. Throws ConfigError if the host has another one (P318). */
  keepEngine?(engine: string): Promise<void>;
  /** The attempt was refused. The identity may correct the next attempt. */
  refused?(refusal: ConnectionRefusal): void;
}

/** A smaller difference between the clocks cannot be the reason of a refused proof. */
const NOTABLE_SKEW_MS = 5_000;

export class HostIdentity implements Identity {
  readonly #config: Config;
  readonly #folder: string;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  #stored: StoredKey;
  /** Added to this machine's clock after the control plane reported that the clock is wrong (CONT-7). */
  #correctionMs = 0;
  #isNew = false;
  /** The control plane does not have the key: its database is another one, or an older copy. */
  #unknown = false;

  private constructor(config: Config, folder: string, key: StoredKey, log: Logger, nowMs: () => number) {
    this.#config = config;
    this.#folder = folder;
    this.#stored = key;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Opens the key in the data folder, or generates one if there is a join token. Throws ConfigError. */
  static async open(config: Config, log: Logger, nowMs: () => number): Promise<HostIdentity> {
    const folder = `${config.dataDir}/${config.deployment}/identity`;
    let key = await readKey(folder);
    let isNew = false;
    // An unregistered key without a token cannot become a host.
    if (!key?.hostId && config.joinToken === undefined) throw new ConfigError(noToken(folder));
    if (!key) {
      const generated = newKey(config.name);
      // Stored before the registration: if the answer is lost, the next attempt registers the same key.
      key = await addKey(folder, generated);
      isNew = key === generated;
    }
    if (config.isNameGiven && key.name !== config.name) {
      // An unregistered key may still change its name.
      if (key.hostId !== null) throw new ConfigError(otherName(key.name, config.name, folder));
      key = { ...key, name: config.name };
      await writeKey(folder, key);
    }
    const identity = new HostIdentity(config, folder, key, log, nowMs);
    identity.#isNew = isNew;
    return identity;
  }

  /** The host's name: the name under which it was registered (CONT-6). */
  get name(): string {
    return this.#stored.name;
  }

  /** True if `open` generated the key. */
  get isNew(): boolean {
    return this.#isNew;
  }

  get hostId(): number | null {
    return this.#stored.hostId;
  }

  async headers(audience = this.#config.deployment): Promise<Record<string, string>> {
    const hostId = await this.#registeredId();
    const key = await importJWK(this.#stored.privateKey, PROOF_ALGORITHM);
    const nowS = Math.floor((this.#nowMs() + this.#correctionMs) / 1_000);
    const proof = await new SignJWT()
      .setProtectedHeader({ alg: PROOF_ALGORITHM })
      .setSubject(String(hostId))
      .setAudience(audience)
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
    const message = `this machine's clock differs by ${Math.round(skewMs / 1_000)} s from the control plane's: set it by NTP`;
    this.#log('clock.differs', { skewMs, reason: message });
  }

  async keepEngine(engine: string): Promise<void> {
    const { engine: before } = this.#stored;
    if (before === engine) return;
    if (before !== undefined && this.#config.acceptedEngine !== engine)
      throw new ConfigError(otherEngine(before, engine, this.#folder));
    const key = { ...this.#stored, engine };
    await writeKey(this.#folder, key);
    this.#stored = key;
    if (before !== undefined) this.#log('engine.accepted', { engine, before });
  }

  /**
   * Registers the host unless it is registered; resolves to its id. Throws RefusedError if the control plane
   * refuses the registration.
   */
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
   * Removes the key of a host that was removed from the cluster; a join token then makes a new one. A failure
   * is only logged, because the reason why the agent ends matters more.
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
      // The token may have been used long ago, and the earlier database may return.
      this.#log('registration.failed', { reason: messageOf(error) });
      return hostId;
    }
  }

  async #register(): Promise<number> {
    const { urls, joinToken, deployment } = this.#config;
    if (joinToken === undefined) throw new ConfigError(noToken(this.#folder));
    const { name, privateKey } = this.#stored;
    const { kty, crv, x } = privateKey;
    const hostId = await registerAtAny(urls, joinToken, { deployment, name, publicKey: { kty, crv, x } });
    const key = { ...this.#stored, hostId };
    // Stored first: an id known only to this process would be lost with it, and the token is valid for one
    // hour.
    await writeKey(this.#folder, key);
    this.#stored = key;
    this.#log('host.registered', { host: name, id: hostId });
    return hostId;
  }
}

const noToken = (folder: string) =>
  `The folder ${folder} has no key of a host, and BERTH_JOIN_TOKEN is not set. An administrator creates a join ` +
  'token with POST host/token. Start the agent once with that token in BERTH_JOIN_TOKEN.';

/** What to do about an engine that is not the host's. */
export const engineRemedy = (engine: string): string =>
  `Start the agent with the engine of the host (DOCKER_HOST). If a copy of its data folder is on this machine, remove the ` +
  `copy and join this machine as another host. If the containers of the host's engine are gone for good, set BERTH_AGENT_ENGINE=${engine}.`;

const otherEngine = (before: string, engine: string, folder: string) =>
  `The containers of the host of the key in ${folder} are on the engine ${before}, and this is the engine ${engine}. ` +
  engineRemedy(engine);

const otherName = (registered: string, given: string, folder: string) =>
  `BERTH_AGENT_NAME is ${given}, but the key in ${folder} belongs to the host ${registered}. Unset ` +
  `BERTH_AGENT_NAME or set it to ${registered}, or give this agent another BERTH_AGENT_DATA_DIR and a join ` +
  'token to make it another host.';
