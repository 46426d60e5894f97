/**
 * Secrets check: a host gets the values for a start exactly while that start is placed on it, those of its
 * user, and no start has a value that was removed (C297, C298). Looks from outside: no agent is involved.
 */
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { Seal } from '../../../../control-plane/operations/secrets/seal.ts';
import { readStartSecrets } from '../../../../control-plane/operations/secrets/start-secrets.ts';
import type { Db, Row } from '../../../../control-plane/store/db/db.ts';
import { Check } from './check.ts';

const NAME = 'PROBED';
/** User 2 has none of its own. */
const VALUES = [
  { userId: 1, value: 'of user 1' },
  { userId: null, value: 'of all users' },
] as const;
const MAY_START = ['starting', 'active'];

export class SecretsCheck extends Check {
  readonly #seal = new Seal([Buffer.alloc(32, 7).toString('base64')]);

  /** Requests the secrets of every service as its host and as another, and for the starts beside its own. */
  async check(db: Db): Promise<void> {
    const { services, hosts } = this.ledger;
    await this.#store(db);
    for (const service of services.values()) {
      const [own, generation] = [Number(service.host_id), Number(service.generation)];
      const other = [...hosts.keys()].find((hostId) => hostId !== own) ?? own + 1;
      await this.#probe(db, service, other, generation);
      for (const step of [-1, 0, 1]) await this.#probe(db, service, own, generation + step);
    }
    await db.query('DELETE FROM user_secrets');
    const placed = [...services.values()].find((service) => MAY_START.includes(String(service.status)));
    if (!placed) return;
    const { outcome, isFinal } = await this.#request(db, placed);
    if (!isFinal) this.violate(`the start of service ${placed.id} has a removed secret: ${outcome}`);
  }

  async #probe(db: Db, service: Row, hostId: number, generation: number): Promise<void> {
    const isPlaced =
      service.host_id === hostId &&
      service.generation === generation &&
      MAY_START.includes(String(service.status));
    const userId = this.ledger.executions.get(Number(service.execution_id))?.user_id;
    const { value } = VALUES.find((one) => one.userId === userId) ?? VALUES[1];
    const { outcome } = await this.#request(db, service, hostId, generation);
    this.world.count(isPlaced ? 'secrets: given' : 'secrets: refused');
    if (outcome !== (isPlaced ? value : 'not-found'))
      this.violate(
        `host ${hostId} gets "${outcome}" for start ${service.id}.${generation} of user ${userId}, ` +
          `which is ${service.status} as ${service.generation} on host ${service.host_id}`,
      );
  }

  /** `outcome`: the value, or the code of the error. */
  async #request(
    db: Db,
    service: Row,
    hostId = Number(service.host_id),
    generation = Number(service.generation),
  ): Promise<{ outcome: string; isFinal: boolean }> {
    const context = { db: withReferences(db), seal: this.#seal, deploymentName: 'sim' };
    try {
      const key = { service: Number(service.id), generation };
      const { environment } = await readStartSecrets(context, hostId, key, () => {});
      return { outcome: environment.find(([name]) => name === NAME)?.[1] ?? 'nothing', isFinal: false };
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      return { outcome: error.code, isFinal: error.code === 'invalid' };
    }
  }

  async #store(db: Db): Promise<void> {
    await db.query('DELETE FROM user_secrets');
    for (const { userId, value } of VALUES) {
      const sealed = await this.#seal.close({ kind: 'secret', userId, name: NAME }, Buffer.from(value));
      await db.query(
        `INSERT INTO user_secrets (kind, user_id, name, key_id, sealed, bytes, set_ms)
          VALUES ('secret', ?, ?, ?, ?, ?, 0)`,
        [userId, NAME, sealed.keyId, sealed.text, value.length],
      );
    }
  }
}

/** The database with descriptions that refer to the secret: those of the run do not, and stay as they are. */
function withReferences(db: Db): Db {
  const query: Db['query'] = async (...args) =>
    (await db.query(...args)).map((row) => (typeof row.description === 'string' ? referring(row) : row));
  return {
    ...db,
    query,
    batch: db.batch.bind(db),
    batchRows: db.batchRows.bind(db),
    close: db.close.bind(db),
  };
}

function referring(row: Row): Row {
  const application = JSON.parse(String(row.description));
  for (const service of application.services) service.environment = [[NAME, `{secret#${NAME}}`]];
  return { ...row, description: JSON.stringify(application) };
}
