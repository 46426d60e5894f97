/** The schema: the baseline, and each later change of it. Add new ones at the end (STORE-3). */
import { baseline } from './baseline.ts';
import type { Migration } from './migrate.ts';

/**
 * Names of workspaces and numbers in file systems belong to the user who had them first, for ever: files stay
 * when a user is deleted (H754). The names of users who were deleted before are in the audit log, and none of
 * their numbers is above the count of all users so far.
 */
const workspaces: Migration = {
  version: 30,
  name: 'workspaces and numbers of former users',
  statements: [
    'ALTER TABLE users ADD COLUMN workspace TEXT',
    'UPDATE users SET workspace = username WHERE deleted = 0',
    'CREATE TABLE workspaces (name TEXT PRIMARY KEY, user_id INTEGER NOT NULL) WITHOUT ROWID',
    'INSERT INTO workspaces (name, user_id) SELECT workspace, id FROM users WHERE deleted = 0',
    `INSERT OR IGNORE INTO workspaces (name, user_id) SELECT target_name, coalesce(target_id, 0) FROM audit
      WHERE action = 'delete-user' AND outcome = 'done' AND target_name IS NOT NULL`,
    'CREATE TABLE fs_uids (fs_uid INTEGER PRIMARY KEY, user_id INTEGER NOT NULL)',
    'INSERT OR IGNORE INTO fs_uids (fs_uid, user_id) SELECT fs_uid, id FROM users ORDER BY deleted, id',
    `INSERT OR IGNORE INTO fs_uids (fs_uid, user_id) SELECT 999 + seq, 0 FROM sqlite_sequence
      WHERE name = 'users' AND seq > 0`,
    `CREATE TRIGGER users_inserted AFTER INSERT ON users BEGIN
      UPDATE users SET workspace = NEW.username WHERE id = NEW.id AND workspace IS NULL;
      INSERT OR IGNORE INTO workspaces (name, user_id) VALUES (coalesce(NEW.workspace, NEW.username), NEW.id);
      INSERT OR IGNORE INTO fs_uids (fs_uid, user_id) VALUES (NEW.fs_uid, NEW.id);
    END`,
    `CREATE TRIGGER users_numbered AFTER UPDATE OF fs_uid ON users BEGIN
      INSERT OR IGNORE INTO fs_uids (fs_uid, user_id) VALUES (NEW.fs_uid, NEW.id);
    END`,
  ],
};

/** The engine of a host, whose containers are those that the database has (P318). */
const engines: Migration = {
  version: 31,
  name: 'engines of hosts',
  statements: ['ALTER TABLE hosts ADD COLUMN engine_id TEXT'],
};

/** The last starts of each service, as JSON. Services that have started before begin with none (C340). */
const history: Migration = {
  version: 32,
  name: 'last starts of services',
  statements: ["ALTER TABLE services ADD COLUMN history TEXT NOT NULL DEFAULT '[]'"],
};

/**
 * Names of users as a directory compares them, so that a change is refused by its own statement (H823). Rows
 * of before have none until the name or the source of the user changes.
 */
const foldedNames: Migration = {
  version: 33,
  name: 'names of users as a directory compares them',
  statements: [
    'ALTER TABLE users ADD COLUMN folded_name TEXT',
    'CREATE INDEX users_by_folded_name ON users (folded_name)',
  ],
};

/**
 * What the charts of the last hour show, at one moment each, as JSON: of the cluster, or of all hosts. No
 * index: there are at most some hundred rows.
 */
const samples: Migration = {
  version: 34,
  name: 'samples of the last hour',
  statements: ['CREATE TABLE samples (time_ms INTEGER NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL)'],
};

export const migrations: readonly Migration[] = [
  baseline,
  workspaces,
  engines,
  history,
  foldedNames,
  samples,
];
