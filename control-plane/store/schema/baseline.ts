/**
 * The schema, from top to bottom. Later changes of it are in migrations.ts. Times are in milliseconds since
 * the epoch. Long texts stand at the end of a row: SQLite reaches a column through those before it.
 */
import type { Migration } from './migrate.ts';

const GIB = 1024 ** 3;

const ACCOUNTS = [
  `CREATE TABLE roles (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    can_change_config INTEGER NOT NULL CHECK (can_change_config IN (0, 1)),
    can_delete_executions INTEGER NOT NULL CHECK (can_delete_executions IN (0, 1)),
    can_see_status INTEGER NOT NULL CHECK (can_see_status IN (0, 1)),
    can_access_full_app_shop INTEGER NOT NULL CHECK (can_access_full_app_shop IN (0, 1)),
    can_operate_others INTEGER NOT NULL CHECK (can_operate_others IN (0, 1)),
    can_customize_resources INTEGER NOT NULL CHECK (can_customize_resources IN (0, 1)),
    can_access_api INTEGER NOT NULL CHECK (can_access_api IN (0, 1)),
    can_exec INTEGER NOT NULL DEFAULT 1
  )`,
  `INSERT INTO roles (name, can_change_config, can_delete_executions, can_see_status, can_access_full_app_shop,
    can_operate_others, can_customize_resources, can_access_api) VALUES
    ('admin', 1, 1, 1, 1, 1, 1, 1),
    ('superuser', 0, 1, 1, 1, 0, 1, 1),
    ('user', 0, 0, 0, 0, 0, 0, 1)`,
  // time_limit_s: what an execution has that states none; max_time_limit_s: the most that it may state.
  // 0: none.
  `CREATE TABLE quotas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    concurrent_executions INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    cores INTEGER NOT NULL,
    time_limit_s INTEGER NOT NULL DEFAULT 0,
    max_time_limit_s INTEGER NOT NULL DEFAULT 0
  )`,
  `INSERT INTO quotas (name, concurrent_executions, memory, cores) VALUES ('default', 5, ${32 * GIB}, 20)`,
  // The row of a deleted user stays while executions refer to it, unusable and under another name.
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
    credential_version INTEGER NOT NULL DEFAULT 1,
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
  )`,
  'CREATE INDEX users_deleted ON users (id) WHERE deleted = 1',
  'CREATE INDEX users_by_role ON users (role_id)',
  'CREATE INDEX users_by_quota ON users (quota_id)',
  // Who a user is at a provider of OpenID Connect: issuer and subject, never a name or an address.
  `CREATE TABLE sign_ons (
    user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    tokens_until_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (issuer, subject)
  )`,
  // Digests of states, as long as a callback with them might come again.
  `CREATE TABLE used_sign_ons (
    state_hash TEXT PRIMARY KEY,
    expires_ms INTEGER NOT NULL
  )`,
  // Generated values that must survive a restart, such as the key that signs tokens.
  'CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
  // The key of the proofs of ids: one for the life of the database and of its copies (STORE-12).
  `INSERT INTO secrets (name, value) VALUES ('id-proofs', lower(hex(randomblob(32))))`,
];

const CREDENTIALS = [
  // opened_from: digest of the address whose Basic credentials opened the session, or `program` for logins by
  // the command line; null for logins by the form. signed_on_ms: null for sessions by a password.
  // full_until_ms: until then a session admits everything, after it executions only; null: until it expires.
  `CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential_version INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    opened_from TEXT,
    signed_on_ms INTEGER,
    full_until_ms INTEGER
  ) WITHOUT ROWID`,
  'CREATE INDEX sessions_by_expiry ON sessions (expires_ms)',
  'CREATE INDEX sessions_by_user ON sessions (user_id)',
  // A token is valid while its row exists with the user's current version. grant_hash is the id_hash of the
  // refresh token from which the access token was issued; for a refresh token it is its own id_hash.
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
  `CREATE TABLE login_failures (
    bucket TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
  ) WITHOUT ROWID`,
  'CREATE INDEX login_failures_by_time ON login_failures (last_ms)',
  // Keys of requests that have made something, and what it was (SPEC.md H440). The digest is of method, path
  // and body.
  `CREATE TABLE idempotency_keys (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    made_id INTEGER NOT NULL,
    made_ms INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
  ) WITHOUT ROWID`,
  'CREATE INDEX idempotency_keys_by_time ON idempotency_keys (made_ms)',
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
  // Has every column of the list, so that it is read without the values.
  'CREATE INDEX user_secrets_by_user ON user_secrets (user_id, kind, name, bytes, set_ms, key_id)',
  'CREATE INDEX user_secrets_by_key ON user_secrets (key_id)',
];

const AUDIT = [
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
];

const COORDINATOR = [
  // A single row. A coordinator takes the next epoch when it starts, under its name (holder); the check then
  // refuses commits with an earlier one. A standby watches beats, which the holder of beating_epoch moves.
  // unproven_ids: how many ids hosts have reported without a proof, which were skipped for that reason
  // (SPEC.md C211). keep_ended_days: for how long ended executions are kept without a setting; 0: for ever.
  // reviewed_ms: the last complete review of the history.
  `CREATE TABLE coordinator (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    writer INTEGER NOT NULL,
    holder TEXT,
    beats INTEGER NOT NULL DEFAULT 0,
    beating_epoch INTEGER,
    unproven_ids INTEGER NOT NULL DEFAULT 0,
    keep_ended_days REAL NOT NULL DEFAULT 0,
    reviewed_ms INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT stale_coordinator CHECK (writer = epoch)
  )`,
  'INSERT INTO coordinator (id, epoch, writer, keep_ended_days) VALUES (1, 0, 0, 90)',
  // Ranges of ids that were assigned before an older copy of the database was restored. Containers with these
  // ids may still run.
  'CREATE TABLE unknown_services (first INTEGER PRIMARY KEY, last INTEGER NOT NULL)',
];

const HOSTS = [
  // The row of a removed host stays while services refer to it, under a unique name, and so does its key: its
  // agent differs from one that was never registered. silent_since_ms: null while the agent is connected, or
  // if no timeout is running. lease_ms: the lease that the agent has confirmed; null: containers run without
  // contact for any length of time. agreed: labels and size that count without an administrator, as JSON;
  // null until the first hello.
  `CREATE TABLE hosts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    public_key TEXT,
    labels TEXT NOT NULL,
    admin_labels TEXT NOT NULL DEFAULT '[]',
    agreed TEXT,
    memory_bytes INTEGER NOT NULL,
    cores REAL NOT NULL,
    schedulable INTEGER NOT NULL,
    agent_version TEXT NOT NULL,
    engine_version TEXT NOT NULL,
    last_contact_ms INTEGER NOT NULL,
    silent_since_ms INTEGER,
    lease_ms INTEGER,
    lost INTEGER NOT NULL,
    removed_ms INTEGER,
    removed_name TEXT
  )`,
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
];

const indexOfList = (name: string, columns: string) =>
  `CREATE INDEX executions_by_${name} ON executions (${columns}, time_start_ms, time_end_ms, name, deleted)`;

const EXECUTIONS = [
  // An execution that waits has no rows of services: their ids begin at first_service_id, and demand is what
  // its start requires, as JSON. time_limit_s counts from the placement on; null: none.
  `CREATE TABLE executions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    status TEXT NOT NULL,
    ending TEXT,
    deleted INTEGER NOT NULL,
    time_submit_ms INTEGER NOT NULL,
    time_place_ms INTEGER,
    time_start_ms INTEGER,
    time_stop_ms INTEGER,
    time_end_ms INTEGER,
    time_limit_s INTEGER,
    attempts INTEGER NOT NULL,
    retry_at_ms INTEGER,
    first_service_id INTEGER,
    service_count INTEGER,
    size NUMERIC,
    error_message TEXT,
    demand TEXT,
    description_bytes INTEGER,
    description TEXT NOT NULL
  )`,
  `CREATE INDEX executions_live ON executions (status) WHERE status NOT IN ('terminated', 'error') OR deleted = 1`,
  // Each index of the list covers every filter and is ordered by submission, so that a limit stops the scan
  // early (STORE-7).
  `${indexOfList('submit', 'time_submit_ms, id, user_id, status')} WHERE deleted = 0`,
  `${indexOfList('status', 'status, time_submit_ms, id, user_id')} WHERE deleted = 0`,
  // Includes deleted executions: the row of a deleted user is removed once nothing refers to it.
  indexOfList('user', 'user_id, time_submit_ms, id, status'),
  // Without it, a search for a name without matches reads all 100,000 executions: 20 ms.
  `CREATE INDEX executions_by_name ON executions
    (name, time_submit_ms, id, user_id, status, time_start_ms, time_end_ms, deleted) WHERE deleted = 0`,
  // Not written before the end, so that a submission costs no more.
  `CREATE INDEX executions_by_end ON executions (time_end_ms, id, time_submit_ms, user_id, status, time_start_ms,
    name) WHERE deleted = 0 AND time_end_ms IS NOT NULL`,
  `CREATE INDEX executions_ended_by_user ON executions (user_id, status, time_submit_ms, id, time_start_ms,
    time_end_ms, name) WHERE deleted = 0 AND status IN ('terminated', 'error')`,
  // Has every column that a start of the control plane reads (STORE-11).
  `CREATE INDEX executions_waiting ON executions (id, deleted, ending, name, user_id, size, time_submit_ms, attempts,
    retry_at_ms, first_service_id, service_count, demand, description_bytes, time_limit_s) WHERE status = 'queued'`,
  `CREATE INDEX executions_by_first_service ON executions (first_service_id)
    WHERE first_service_id IS NOT NULL`,
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
  // Without it, the removal of a host's row would read all services.
  'CREATE INDEX services_by_host ON services (host_id) WHERE host_id IS NOT NULL',
];

export const baseline: Migration = {
  version: 29,
  name: 'baseline',
  oldestCode: 29,
  replaces: { version: 28, name: 'commands in services by role' },
  statements: [ACCOUNTS, CREDENTIALS, AUDIT, COORDINATOR, HOSTS, EXECUTIONS].flat(),
};
