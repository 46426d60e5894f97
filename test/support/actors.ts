/** Owns the actors of the authorisation matrix: nobody, and users with a role for each flag that is on or off alone. */
import type { Host } from './hosts.ts';
import { basic, HttpClient } from './http-client.ts';
import { addRole, addUser, allowApi, enableUser, FLAGS, type Flag } from './users.ts';

export interface Actor {
  name: string;
  /** Of its role; undefined for who counts as nobody. */
  flags: readonly Flag[] | undefined;
  /** By cookie. */
  http: HttpClient;
  /** As the API shows it in `user_id`; group B's ids are numbers. */
  userId: string | number;
}

const ROLES: [name: string, flags: Flag[]][] = [
  ['none', []],
  ...FLAGS.map((flag): [string, Flag[]] => [
    `only-${flag}`,
    FLAGS.filter((one) => one === flag || one === 'can_access_api'),
  ]),
  ...FLAGS.map((flag): [string, Flag[]] => [`all-but-${flag}`, FLAGS.filter((one) => one !== flag)]),
];

/** A new user with this role, logged in. */
export async function logInNew(
  host: Host,
  name: string,
  role: string,
  flags: Actor['flags'],
): Promise<Actor> {
  await addUser(host, name, 'secret', role);
  const anonymous = new HttpClient(() => host.url());
  const reply = await anonymous.with(basic(name, 'secret')).get('login');
  const cookie = reply.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const { uid, user } = reply.json<{ uid?: string; user?: { id: number } }>();
  return { name, flags, http: anonymous.with({ cookie }), userId: user?.id ?? uid ?? '' };
}

/** The actors, all but nobody allowed to use the API as yet, so that things of their own can be made for them. */
export async function makeActors(host: Host): Promise<Actor[]> {
  for (const [role, flags] of ROLES)
    await addRole(host, role, [...new Set([...flags, 'can_access_api' as const])]);
  return [
    { name: 'anonymous', flags: undefined, http: new HttpClient(() => host.url()), userId: '' },
    await logInNew(host, 'disabled', 'admin', undefined),
    await logInNew(host, 'administrator', 'admin', FLAGS),
    ...(await Promise.all(ROLES.map(([role, flags]) => logInNew(host, role, role, flags)))),
  ];
}

/** Takes from the actors what their names say that they do not have. */
export async function restrictActors(host: Host): Promise<void> {
  await enableUser(host, 'disabled', false);
  for (const [role, flags] of ROLES) if (!flags.includes('can_access_api')) await allowApi(host, role, false);
}
