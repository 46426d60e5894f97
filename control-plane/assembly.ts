/**
 * The common setup of Worker and Durable Object: settings, database and log, from the bindings of an isolate.
 */
import type { ContainerExtras } from '../shared/expand.ts';
import { ConfigError, firstPasswordOf, readConfig, schedulerConfigOf } from './config.ts';
import type { Logger } from './coordinator/ports.ts';
import type { SchedulerConfig } from './core/model/scheduler-config.ts';
import { chooseVariant, containerExtrasOf } from './http/variants/choose.ts';
import { logTo } from './logger.ts';
import { prepareDatabase } from './prepare.ts';
import type { Config } from './settings.ts';
import type { Db } from './store/db/db.ts';
import { pipeline } from './store/db/pipeline.ts';
import { openRemote } from './store/db/remote.ts';
import { schemaVersionOf } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';
import { VERSION } from './version.ts';

export interface Assembly {
  config: Config;
  scheduling: SchedulerConfig;
  containerExtras: ContainerExtras | undefined;
  db: Db;
  log: Logger;
  /** The version of this program and its schema. */
  release: string;
  /**
   * Migrates the database, unless this isolate has done so. Simultaneous calls each do the work, as separate
   * isolates would: workerd cancels a request as hung if it waits for the I/O of another one.
   */
  prepare(): Promise<void>;
}

export function assemble(env: Record<string, unknown>): Assembly {
  const config = readConfig(env);
  const url = config.BERTH_DATABASE_URL;
  if (url === undefined) throw new ConfigError('BERTH_DATABASE_URL is not set: it names the libSQL server.');
  const db = openRemote(url, config.BERTH_DATABASE_TOKEN, pipeline);
  // biome-ignore lint/suspicious/noConsole: workerd has no other log.
  const log = logTo((line) => console.log(line));
  let prepared = false;
  const prepare = async () => {
    if (prepared) return;
    const { builtInRoles: roles } = chooseVariant(config.BERTH_API_VARIANT);
    const first = { ...firstPasswordOf(config), roles };
    const password = await prepareDatabase(db, log, first, Date.now(), config.BERTH_SECRET_KEYS);
    if (password) log('administrator.created', { username: 'admin', password });
    prepared = true;
  };
  const release = `${VERSION} with schema ${schemaVersionOf(migrations)}`;
  return {
    config,
    scheduling: schedulerConfigOf(config),
    containerExtras: containerExtrasOf(config),
    db,
    log,
    release,
    prepare,
  };
}
