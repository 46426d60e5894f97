/**
 * The schema, as a list of migrations. Add new ones at the end; never change a released one (STORE-3). Times
 * are in milliseconds since the epoch.
 */
import { firstMigrations } from './first-migrations.ts';
import type { Migration } from './migrate.ts';

export const migrations: readonly Migration[] = [
  ...firstMigrations,
  {
    version: 10,
    name: 'silence of hosts',
    // Older programs would use removed hosts as hosts, and accept agents without a key.
    oldestCode: 10,
    statements: [
      // Null while the agent is connected, or if no timeout is running.
      'ALTER TABLE hosts ADD COLUMN silent_since_ms INTEGER',
      // The lease that the agent has confirmed. Null: containers run without contact for any length of time.
      'ALTER TABLE hosts ADD COLUMN lease_ms INTEGER',
    ],
  },
  {
    version: 11,
    name: 'times of all states of executions',
    // Null in earlier rows; the page of such an execution shows less.
    statements: [
      'ALTER TABLE executions ADD COLUMN time_place_ms INTEGER',
      'ALTER TABLE executions ADD COLUMN time_stop_ms INTEGER',
    ],
  },
  {
    version: 12,
    name: 'executions that wait have no rows of services',
    // Older programs would place such an execution without any service.
    oldestCode: 12,
    statements: [
      // Null in earlier rows: there the rows of the services have the ids. The coordinator completes the rows
      // of executions that wait (cluster/waiting-rows.ts).
      'ALTER TABLE executions ADD COLUMN first_service_id INTEGER',
      'ALTER TABLE executions ADD COLUMN service_count INTEGER',
      'ALTER TABLE executions ADD COLUMN size NUMERIC',
      // What the start requires, as JSON.
      'ALTER TABLE executions ADD COLUMN demand TEXT',
      'ALTER TABLE executions ADD COLUMN description_bytes INTEGER',
      // Has every column that a start of the control plane reads: columns behind a long description are slow
      // to reach.
      `CREATE INDEX executions_waiting ON executions (id, deleted, ending, name, user_id, size, time_submit_ms, attempts,
        retry_at_ms, first_service_id, service_count, demand, description_bytes) WHERE status = 'queued'`,
      `CREATE INDEX executions_by_first_service ON executions (first_service_id)
        WHERE first_service_id IS NOT NULL`,
    ],
  },
  {
    version: 13,
    name: 'agreement on what hosts offer',
    statements: [
      // Labels and size that count without an administrator, as JSON. Null until the first hello.
      'ALTER TABLE hosts ADD COLUMN agreed TEXT',
      `UPDATE hosts SET agreed = json_object('labels', json(labels), 'memoryBytes', memory_bytes, 'cores', cores)
        WHERE agent_version <> ''`,
    ],
  },
  {
    version: 14,
    name: 'origin of sessions',
    statements: [
      // Digest of the address whose Basic credentials opened the session; null for logins by the form.
      'ALTER TABLE sessions ADD COLUMN opened_from TEXT',
    ],
  },
  {
    version: 15,
    name: 'proofs of ids',
    statements: [
      // The key of the proofs: one for the life of the database and of its copies (STORE-12).
      `INSERT INTO secrets (name, value) VALUES ('id-proofs', lower(hex(randomblob(32))))`,
      // Ids that hosts have reported without a proof, and that were skipped for that reason (SPEC.md C211).
      'ALTER TABLE coordinator ADD COLUMN unproven_ids INTEGER NOT NULL DEFAULT 0',
    ],
  },
  {
    version: 16,
    name: 'heartbeat of the coordinator',
    statements: [
      // Moved by the heartbeat of the coordinator; a standby watches it.
      'ALTER TABLE coordinator ADD COLUMN beats INTEGER NOT NULL DEFAULT 0',
      // The last epoch whose holder moves the counter.
      'ALTER TABLE coordinator ADD COLUMN beating_epoch INTEGER',
    ],
  },
  {
    version: 17,
    name: 'retention of ended executions',
    statements: [
      // Days for which ended executions are kept without a setting; 0: for ever. A database that no control
      // plane has used is new.
      'ALTER TABLE coordinator ADD COLUMN keep_ended_days REAL NOT NULL DEFAULT 0',
      'UPDATE coordinator SET keep_ended_days = 90 WHERE epoch = 0',
      // The last complete review of the history.
      'ALTER TABLE coordinator ADD COLUMN reviewed_ms INTEGER NOT NULL DEFAULT 0',
      // Not written before the end, so that a submission costs no more.
      `CREATE INDEX executions_by_end ON executions (time_end_ms, id, time_submit_ms, user_id, status, time_start_ms,
        name) WHERE deleted = 0 AND time_end_ms IS NOT NULL`,
      `CREATE INDEX executions_ended_by_user ON executions (user_id, status, time_submit_ms, id, time_start_ms,
        time_end_ms, name) WHERE deleted = 0 AND status IN ('terminated', 'error')`,
      // A clock may have been set back meanwhile (SPEC.md C246).
      'UPDATE executions SET time_start_ms = time_submit_ms WHERE time_start_ms < time_submit_ms',
      `UPDATE executions SET time_end_ms = COALESCE(time_start_ms, time_submit_ms)
        WHERE time_end_ms < COALESCE(time_start_ms, time_submit_ms)`,
      // Without it, the removal of a host's row would read all services.
      'CREATE INDEX services_by_host ON services (host_id) WHERE host_id IS NOT NULL',
    ],
  },
  {
    version: 18,
    name: 'idempotency keys',
    statements: [
      // Keys of requests that have made something, and what it was (SPEC.md H440). The digest is of method,
      // path and body.
      `CREATE TABLE idempotency_keys (
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        digest TEXT NOT NULL,
        made_id INTEGER NOT NULL,
        made_ms INTEGER NOT NULL,
        PRIMARY KEY (user_id, key)
      ) WITHOUT ROWID`,
      'CREATE INDEX idempotency_keys_by_time ON idempotency_keys (made_ms)',
    ],
  },
  {
    version: 19,
    name: 'time limits of executions',
    statements: [
      // Seconds from the placement on; null: none.
      'ALTER TABLE executions ADD COLUMN time_limit_s INTEGER',
      // Seconds; 0: none. What an execution has that states none, and the most that it may state.
      'ALTER TABLE quotas ADD COLUMN time_limit_s INTEGER NOT NULL DEFAULT 0',
      'ALTER TABLE quotas ADD COLUMN max_time_limit_s INTEGER NOT NULL DEFAULT 0',
      // Every column that a start of the control plane reads.
      'DROP INDEX executions_waiting',
      `CREATE INDEX executions_waiting ON executions (id, deleted, ending, name, user_id, size, time_submit_ms, attempts,
        retry_at_ms, first_service_id, service_count, demand, description_bytes, time_limit_s) WHERE status = 'queued'`,
    ],
  },
  {
    version: 21,
    name: 'personal access tokens',
    statements: [
      // Digests only. No id is given twice, since people and programs name tokens by them.
      `CREATE TABLE personal_tokens (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        made_ms INTEGER NOT NULL,
        expires_ms INTEGER,
        used_ms INTEGER,
        UNIQUE (user_id, name)
      )`,
    ],
  },
  {
    version: 22,
    name: 'audit log',
    statements: [
      // Without a reference to users: rows outlive them. No id is given twice, since pages continue at ids.
      `CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        time_ms INTEGER NOT NULL,
        user_id INTEGER,
        username TEXT,
        credential TEXT NOT NULL,
        token_id INTEGER,
        address TEXT,
        request_id TEXT,
        action TEXT NOT NULL,
        target_id INTEGER,
        target_name TEXT,
        fields TEXT NOT NULL,
        outcome TEXT NOT NULL,
        count INTEGER NOT NULL DEFAULT 1,
        counted_by TEXT
      )`,
      // Rows that count refusals within a minute. Changes are not in the index, so that they cost no more.
      'CREATE UNIQUE INDEX audit_counted ON audit (counted_by) WHERE counted_by IS NOT NULL',
    ],
  },
  {
    version: 23,
    name: 'sign-on',
    statements: [
      // Who a user is at a provider of OpenID Connect: issuer and subject, never a name or an address.
      `CREATE TABLE sign_ons (
        user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        tokens_until_ms INTEGER NOT NULL DEFAULT 0,
        UNIQUE (issuer, subject)
      )`,
      // Null for sessions by a password.
      'ALTER TABLE sessions ADD COLUMN signed_on_ms INTEGER',
    ],
  },
  {
    version: 24,
    name: 'sessions that outlast their password for executions',
    statements: [
      // Until then a session admits everything; after it, executions only. Null: until it expires.
      'ALTER TABLE sessions ADD COLUMN full_until_ms INTEGER',
    ],
  },
  {
    version: 25,
    name: 'secrets of users',
    statements: [
      // Encrypted values only, with the id of the key. user_id: null for a secret of all users.
      `CREATE TABLE user_secrets (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        user_id INTEGER REFERENCES users (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        key_id TEXT NOT NULL,
        sealed TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        set_ms INTEGER NOT NULL
      )`,
      'CREATE UNIQUE INDEX user_secrets_by_name ON user_secrets (ifnull(user_id, 0), kind, name)',
      'CREATE INDEX user_secrets_by_user ON user_secrets (user_id)',
      'CREATE INDEX user_secrets_by_key ON user_secrets (key_id)',
    ],
  },
  {
    version: 26,
    name: 'sign-ons that are complete',
    statements: [
      // Digests of states, as long as a callback with them might come again.
      `CREATE TABLE used_sign_ons (
        state_hash TEXT PRIMARY KEY,
        expires_ms INTEGER NOT NULL
      )`,
    ],
  },
  {
    version: 27,
    name: 'reads of secrets without their values',
    statements: [
      'DROP INDEX user_secrets_by_user',
      `CREATE INDEX user_secrets_by_user ON user_secrets (user_id, kind, name, bytes, set_ms, key_id)`,
    ],
  },
  {
    version: 28,
    name: 'commands in services by role',
    // Roles of earlier releases keep what they allowed.
    statements: ['ALTER TABLE roles ADD COLUMN can_exec INTEGER NOT NULL DEFAULT 1'],
  },
];
