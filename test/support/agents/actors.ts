/**
 * The actors of the authorisation matrix: an anonymous client, and users whose roles have a single flag on or
 * off.
 */

import { basic, HttpClient } from '../clients/http-client.ts';
import { enableUser, FLAGS, type Flag, insertUsers, setRole } from '../fixtures/users.ts';
import type { Host } from '../hosts/hosts.ts';
import { fewAtATime } from '../tools/few-at-a-time.ts';

export interface Actor {
  name: string;
  /** Flags of the actor's role. Undefined for an actor who counts as anonymous. */
  flags: readonly Flag[] | undefined;
  /** Authenticated by cookie. */
  http: HttpClient;
  /** The `user_id` of the API. Group B's ids are numbers. */
  userId: string | number;
}

interface Made {
  name: string;
  role: string;
  flags: Actor['flags'];
}

const NAMED: Made[] = [
  { name: 'disabled', role: 'admin', flags: undefined },
  { name: 'administrator', role: 'admin', flags: FLAGS },
];

const BY_FLAGS: Made[] = [
  { name: 'none', flags: [] },
  ...FLAGS.map((flag) => ({
    name: `only-${flag}`,
    flags: FLAGS.filter((one) => one === flag || one === 'can_access_api'),
  })),
  ...FLAGS.map((flag) => ({ name: `all-but-${flag}`, flags: FLAGS.filter((one) => one !== flag) })),
].map(({ name, flags }) => ({ name, role: name, flags }));

const STRANGER: Made = { name: 'stranger', role: 'user', flags: ['can_access_api'] };

/**
 * Creates the stranger, who owns what the others request, and the actors. All but the anonymous one are
 * logged in and may use the API for now, so that objects of their own can be created.
 */
export async function makeActors(host: Host): Promise<{ stranger: Actor; actors: Actor[] }> {
  for (const { role, flags = [] } of BY_FLAGS) {
    await setRole(host, role, [...new Set([...flags, 'can_access_api' as const])]);
  }
  const users = [STRANGER, ...NAMED, ...BY_FLAGS];
  await insertUsers(host, 'secret words', users);
  const http = new HttpClient(() => host.url());
  const anonymous: Actor = { name: 'anonymous', flags: undefined, http, userId: '' };
  const [stranger = anonymous, ...actors] = await fewAtATime(users, (one) => logIn(http, one));
  return { stranger, actors: [anonymous, ...actors] };
}

/** Removes from the actors the flags that their names exclude. */
export async function restrictActors(host: Host): Promise<void> {
  await enableUser(host, 'disabled', false);
  for (const { role, flags = [] } of BY_FLAGS) await setRole(host, role, flags);
}

async function logIn(http: HttpClient, { name, flags }: Made): Promise<Actor> {
  const reply = await http.with(basic(name, 'secret words')).get('login');
  const cookie = reply.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const { uid, user } = reply.json<{ uid?: string; user?: { id: number } }>();
  return { name, flags, http: http.with({ cookie }), userId: user?.id ?? uid ?? '' };
}
