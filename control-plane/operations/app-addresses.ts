/** Where web applications are: the settings, with the key of the database for those that have a path. */
import { timingSafeEqual } from 'node:crypto';
import { type AppAddresses, type AppIds, appKey, type PathApp } from '../core/apps/app-address.ts';
import { loadIdKey } from '../store/schema/id-sequences.ts';
import type { Context } from './context.ts';

type Apps = Pick<Context, 'db' | 'appPlaces'>;

/** Reads the database only if applications have paths. */
export async function appAddresses({ db, appPlaces: apps }: Apps): Promise<AppAddresses> {
  if (apps?.paths === undefined) return { hosts: apps?.hosts };
  const { hosts, paths: origin, proofOf } = apps;
  const key = await loadIdKey(db);
  return { hosts, paths: { origin, keyOf: (ids: AppIds) => appKey(ids, proofOf(key, ids)) } };
}

/** Whether the path has the proof that belongs to its ids. */
export async function isPathApp(
  { db, appPlaces: apps }: Apps,
  { serviceId, port, proof }: PathApp,
): Promise<boolean> {
  if (apps?.paths === undefined) return false;
  const expected = apps.proofOf(await loadIdKey(db), { service: serviceId, port });
  // Not by their texts, which would reveal by its time how much of a guess is right.
  return timingSafeEqual(Buffer.from(proof), Buffer.from(expected));
}
