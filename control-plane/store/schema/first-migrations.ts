/**
 * The first migrations, which set up the accounts, the executions and the list of executions. Released: never
 * change them (STORE-3). Later ones are in migrations.ts.
 */
import type { Migration } from './migrate.ts';

const GIB = 1024 ** 3;

const ROLE_FLAGS =
  'can_change_config, can_delete_executions, can_see_status, can_access_full_app_shop, can_operate_others, can_customize_resources, can_access_api';

const indexOfList = (name: string, columns: string) =>
  `CREATE INDEX executions_by_${name} ON executions (${columns}, time_start_ms, time_end_ms, name, deleted)`;

export const firstMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, executions, services, hosts',
    oldestCode: 1,
    statements: [
      `CREATE TABLE roles (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        ${ROLE_FLAGS.split(', ')
          .map((flag) => `${flag} INTEGER NOT NULL CHECK (${flag} IN (0, 1))`)
          .join(',\n        ')}
      )`,
      `INSERT INTO roles (name, ${ROLE_FLAGS}) VALUES
        ('admin', 1, 1, 1, 1, 1, 1, 1),
        ('superuser', 0, 1, 1, 1, 0, 1, 1),
        ('user', 0, 0, 0, 0, 0, 0, 1)`,
      `CREATE TABLE quotas (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        concurrent_executions INTEGER NOT NULL,
        memory INTEGER NOT NULL,
        cores INTEGER NOT NULL
      )`,
      `INSERT INTO quotas (name, concurrent_executions, memory, cores) VALUES ('default', 5, ${32 * GIB}, 20)`,
      `CREATE TABLE users (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        username TEXT NOT NULL UNIQUE,
        email TEXT NOT NULL,
        role_id INTEGER NOT NULL REFERENCES roles (id),
        quota_id INTEGER NOT NULL REFERENCES quotas (id),
        auth_source TEXT NOT NULL,
        fs_uid INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
        password_hash TEXT,
        credential_version INTEGER NOT NULL DEFAULT 1
      )`,
      `CREATE TABLE sessions (
        token_hash TEXT PRIMARY KEY,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        credential_version INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL
      ) WITHOUT ROWID`,
      'CREATE INDEX sessions_by_expiry ON sessions (expires_ms)',
      // A single row. A coordinator takes the next epoch when it starts; the check then refuses commits with
      // an earlier one.
      `CREATE TABLE coordinator (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        epoch INTEGER NOT NULL,
        writer INTEGER NOT NULL,
        CONSTRAINT stale_coordinator CHECK (writer = epoch)
      )`,
      'INSERT INTO coordinator (id, epoch, writer) VALUES (1, 0, 0)',
      `CREATE TABLE hosts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        address TEXT NOT NULL,
        labels TEXT NOT NULL,
        memory_bytes INTEGER NOT NULL,
        cores REAL NOT NULL,
        schedulable INTEGER NOT NULL,
        agent_version TEXT NOT NULL,
        engine_version TEXT NOT NULL,
        last_contact_ms INTEGER NOT NULL,
        lost INTEGER NOT NULL
      )`,
      `CREATE TABLE executions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        user_id INTEGER NOT NULL REFERENCES users (id),
        description TEXT NOT NULL,
        status TEXT NOT NULL,
        ending TEXT,
        deleted INTEGER NOT NULL,
        error_message TEXT,
        time_submit_ms INTEGER NOT NULL,
        time_start_ms INTEGER,
        time_end_ms INTEGER,
        attempts INTEGER NOT NULL,
        retry_at_ms INTEGER
      )`,
      'CREATE INDEX executions_by_user ON executions (user_id, id) WHERE deleted = 0',
      `CREATE INDEX executions_live ON executions (status) WHERE status NOT IN ('terminated', 'error') OR deleted = 1`,
      `CREATE TABLE services (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        execution_id INTEGER NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        service_group TEXT NOT NULL,
        status TEXT NOT NULL,
        backend_status TEXT NOT NULL,
        host_id INTEGER REFERENCES hosts (id),
        placed INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        backend_id TEXT,
        ip_address TEXT,
        ports TEXT NOT NULL,
        exit TEXT,
        failure TEXT,
        deaths_ms TEXT NOT NULL,
        restart_at_ms INTEGER,
        error_message TEXT,
        forgotten INTEGER NOT NULL
      )`,
      'CREATE INDEX services_by_execution ON services (execution_id)',
    ],
  },
  {
    version: 2,
    name: 'deleted users',
    statements: [
      // The row of a deleted user stays while executions refer to it, unusable and under another name.
      'ALTER TABLE users ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))',
      'CREATE INDEX users_deleted ON users (id) WHERE deleted = 1',
      'CREATE INDEX users_by_role ON users (role_id)',
      'CREATE INDEX users_by_quota ON users (quota_id)',
      'CREATE INDEX sessions_by_user ON sessions (user_id)',
    ],
  },
  {
    version: 3,
    name: 'indexes of the list of executions',
    // Each index covers every filter and is ordered by submission, so that a limit stops the scan early
    // (STORE-7).
    statements: [
      'DROP INDEX executions_by_user',
      `${indexOfList('submit', 'time_submit_ms, id, user_id, status')} WHERE deleted = 0`,
      `${indexOfList('status', 'status, time_submit_ms, id, user_id')} WHERE deleted = 0`,
      // Includes deleted executions: the row of a deleted user is removed once nothing refers to it.
      indexOfList('user', 'user_id, time_submit_ms, id, status'),
    ],
  },
  {
    version: 4,
    name: 'tokens, failed logins',
    statements: [
      // Generated values that must survive a restart, such as the key that signs tokens.
      'CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
      // A token is valid while its row exists with the user's current version. grant_hash is the id_hash of
      // the refresh token from which the access token was issued; for a refresh token it is its own id_hash.
      `CREATE TABLE tokens (
        id_hash TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
        grant_hash TEXT NOT NULL,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        credential_version INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL
      ) WITHOUT ROWID`,
      'CREATE INDEX tokens_by_expiry ON tokens (expires_ms)',
      'CREATE INDEX tokens_by_user ON tokens (user_id, kind, expires_ms)',
      'CREATE INDEX tokens_by_grant ON tokens (grant_hash)',
      `CREATE TABLE login_failures (
        bucket TEXT PRIMARY KEY,
        failures INTEGER NOT NULL,
        last_ms INTEGER NOT NULL
      ) WITHOUT ROWID`,
      'CREATE INDEX login_failures_by_time ON login_failures (last_ms)',
    ],
  },
  {
    version: 5,
    name: 'index of the list of executions by name',
    // Without it, a search for a name without matches reads all 100,000 executions: 20 ms.
    statements: [
      `CREATE INDEX executions_by_name ON executions
        (name, time_submit_ms, id, user_id, status, time_start_ms, time_end_ms, deleted) WHERE deleted = 0`,
    ],
  },
  {
    version: 6,
    name: 'hosts: labels of the administrator, removal',
    statements: [
      `ALTER TABLE hosts ADD COLUMN admin_labels TEXT NOT NULL DEFAULT '[]'`,
      // Set for a removed host. The row stays because services refer to it, under a unique name.
      'ALTER TABLE hosts ADD COLUMN removed_ms INTEGER',
      'ALTER TABLE hosts ADD COLUMN removed_name TEXT',
    ],
  },
  {
    version: 7,
    name: 'services that a restored database does not know',
    statements: [
      // Ranges of ids that were assigned before an older copy of the database was restored. Containers with
      // these ids may still run.
      'CREATE TABLE unknown_services (first INTEGER PRIMARY KEY, last INTEGER NOT NULL)',
    ],
  },
  {
    version: 8,
    name: 'enrolment of hosts',
    statements: [
      // The key of a removed host stays, so that its agent differs from one that was never registered.
      'ALTER TABLE hosts ADD COLUMN public_key TEXT',
      'CREATE UNIQUE INDEX hosts_by_key ON hosts (public_key) WHERE public_key IS NOT NULL',
      // host_id: the only host that was registered with this token; null while it is unused.
      `CREATE TABLE join_tokens (
        hash TEXT PRIMARY KEY,
        name TEXT,
        labels TEXT NOT NULL,
        expires_ms INTEGER NOT NULL,
        host_id INTEGER REFERENCES hosts (id) ON DELETE CASCADE
      ) WITHOUT ROWID`,
      'CREATE INDEX join_tokens_by_expiry ON join_tokens (expires_ms)',
      'CREATE INDEX join_tokens_by_host ON join_tokens (host_id)',
    ],
  },
  {
    version: 9,
    name: "holder of the coordinator's epoch",
    // Name of the coordinator that took the epoch. A coordinator that lost its state checks whether it still
    // holds the epoch.
    statements: ['ALTER TABLE coordinator ADD COLUMN holder TEXT'],
  },
];
