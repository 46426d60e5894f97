/** Owns the actors of the authorisation matrix: nobody, and users with a role for each flag that is on or off alone. */

import { basic, HttpClient } from '../clients/http-client.ts';
import { enableUser, FLAGS, type Flag, insertUsers, setRole } from '../fixtures/users.ts';
import type { Host } from '../hosts/hosts.ts';

export interface Actor {
  name: string;
  /** Of its role; undefined for who counts as nobody. */
  flags: readonly Flag[] | undefined;
  /** By cookie. */
  http: HttpClient;
  /** As the API shows it in `user_id`; group B's ids are numbers. */
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
 * The stranger, whose things the others ask about, and the actors. All but nobody are logged in and may use the API as
 * yet, so that things of their own can be made for them.
 */
export async function makeActors(host: Host): Promise<{ stranger: Actor; actors: Actor[] }> {
  for (const { role, flags = [] } of BY_FLAGS) {
    await setRole(host, role, [...new Set([...flags, 'can_access_api' as const])]);
  }
  const users = [STRANGER, ...NAMED, ...BY_FLAGS];
  await insertUsers(host, 'secret', users);
  const nobody: Actor = {
    name: 'anonymous',
    flags: undefined,
    http: new HttpClient(() => host.url()),
    userId: '',
  };
  const [stranger = nobody, ...actors] = await Promise.all(users.map((one) => logIn(nobody.http, one)));
  return { stranger, actors: [nobody, ...actors] };
}

/** Takes from the actors what their names say that they do not have. */
export async function restrictActors(host: Host): Promise<void> {
  await enableUser(host, 'disabled', false);
  for (const { role, flags = [] } of BY_FLAGS) await setRole(host, role, flags);
}

async function logIn(http: HttpClient, { name, flags }: Made): Promise<Actor> {
  const reply = await http.with(basic(name, 'secret')).get('login');
  const cookie = reply.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const { uid, user } = reply.json<{ uid?: string; user?: { id: number } }>();
  return { name, flags, http: http.with({ cookie }), userId: user?.id ?? uid ?? '' };
}
