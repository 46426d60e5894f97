import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ConfigError, readNodeConfig } from '../../../../control-plane/config.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { type Directory, openDirectory } from '../../../../control-plane/directory/ldap-directory.ts';
import { ldapConfigOf } from '../../../../control-plane/directory/ldap-settings.ts';
import { makeAuthority } from '../../../support/directory/authority.ts';
import { BASE, DirectoryServer, PEOPLE, READER } from '../../../support/directory/directory-server.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

/** Names that would be more than a name if they were not escaped. */
const HOSTILE = [
  '*',
  ')(uid=*',
  'a,ou=people',
  'back\\slash',
  ' spaced ',
  '#number',
  'jürgen',
  'q"u<o>t;e=d+',
];

let server: DirectoryServer;
let opened: Directory[] = [];
let events: { event: string; reason?: unknown }[] = [];
beforeAll(async () => {
  server = await DirectoryServer.start([
    { uid: 'alice', password: 'secret words' },
    { uid: 'twin', password: 'secret words', unit: 'east' },
    { uid: 'twin', password: 'secret words', unit: 'west' },
    ...HOSTILE.map((uid) => ({ uid, password: 'secret words' })),
  ]);
});
afterEach(() => {
  for (const one of opened) one.close();
  [opened, events] = [[], []];
});
afterAll(() => server.stop());

const byTemplate = () => ({ BERTH_LDAP_USERS: `uid={name},${PEOPLE}` });
/** By an account that searches. After `byTls`, of which it has the authority, too. */
const bySearch = () => ({
  BERTH_LDAP_USERS: BASE,
  BERTH_LDAP_BIND_PASSWORD: READER.password,
  BERTH_LDAP_OPTIONS: JSON.stringify({
    ca: server.authority.ca,
    bindDn: READER.dn,
    userFilter: '(&(objectClass=inetOrgPerson)(uid={name}))',
  }),
});
const byTls = () => ({
  BERTH_LDAP_URL: server.tlsUrl,
  BERTH_LDAP_OPTIONS: JSON.stringify({ ca: server.authority.ca }),
});
const withTls = (tls: string) => ({ BERTH_LDAP_OPTIONS: JSON.stringify({ tls }) });
const byStartTls = () => ({ ...byTls(), BERTH_LDAP_URL: server.url });

async function open(settings: Record<string, string>): Promise<Directory> {
  const config = ldapConfigOf(readNodeConfig(settings));
  if (!config) throw new Error('no directory');
  const directory = await openDirectory(config, (event, fields) => void events.push({ event, ...fields }));
  opened.push(directory);
  return directory;
}

/** The answer, or the code of the error. */
const verify = (directory: Directory, username: string | undefined, password = 'secret words') =>
  directory.verify(username, password).catch((error) => {
    if (error instanceof OperationError) return error.code;
    throw error;
  });

test.each([
  ['TLS from the start, by a template', () => ({ ...byTls(), ...byTemplate() })],
  ['StartTLS, by a template', () => ({ ...byStartTls(), ...byTemplate() })],
  ['TLS from the start, by a search', () => ({ ...byTls(), ...bySearch() })],
  ['StartTLS, by a search', () => ({ ...byStartTls(), ...bySearch() })],
  ['plain text on this machine', () => ({ BERTH_LDAP_URL: server.url, ...withTls('off'), ...byTemplate() })],
])(
  'H550, H552: over %s, the right password of each name is accepted, and nothing else',
  async (_, settings) => {
    const directory = await open(settings());
    for (const name of ['alice', ...HOSTILE])
      expect([name, await verify(directory, name)]).toEqual([name, true]);
    const others = [
      'al*',
      'nobody',
      '',
      'alice\0',
      '\0',
      'x'.repeat(1_024),
      'alice)(uid=alice',
      `alice,${PEOPLE}`,
    ];
    for (const name of others) expect([name, await verify(directory, name)]).toEqual([name, false]);
    for (const password of ['wrong', ' secret words', 'secret words\0', 'x'.repeat(1_024), '*'])
      expect([password, await verify(directory, 'alice', password)]).toEqual([password, false]);
    expect(await verify(directory, undefined)).toBe(false);
    expect(events).toEqual([]);
  },
);

test('H552: a name with two entries in the directory is refused, and the log tells why', async () => {
  const directory = await open({ ...byTls(), ...bySearch() });
  expect(await verify(directory, 'twin')).toBe(false);
  expect(events).toMatchObject([{ event: 'directory.ambiguous' }]);
});

test('H553: an empty password opens no connection', async () => {
  const directory = await open({ ...byTls(), ...byTemplate() });
  await server.end();
  try {
    expect(await verify(directory, 'alice', '')).toBe(false);
    expect(events).toEqual([]);
  } finally {
    await server.start();
  }
});

test('H551: a certificate of another authority is not accepted, nor one for another name', async () => {
  const { ca } = await makeAuthority(await testFolder());
  for (const BERTH_LDAP_URL of [server.url, server.tlsUrl]) {
    const stranger = await open({
      BERTH_LDAP_URL,
      BERTH_LDAP_OPTIONS: JSON.stringify({ ca }),
      ...byTemplate(),
    });
    expect(await verify(stranger, 'alice')).toBe('unavailable');
    const unknown = await open({ BERTH_LDAP_URL, ...byTemplate() });
    expect(await verify(unknown, 'alice')).toBe('unavailable');
    const renamed = await open({
      ...byTls(),
      BERTH_LDAP_URL: BERTH_LDAP_URL.replace('127.0.0.1', 'localhost'),
      ...byTemplate(),
    });
    expect(await verify(renamed, 'alice')).toBe('unavailable');
  }
  expect(events.map(({ event }) => event)).toEqual(Array(6).fill('directory.failed'));
  expect(String(events[2]?.reason)).toMatch(/localhost/);
});

test('H551: plain text is for a directory on this machine, or where the settings say so', () => {
  const problemOf = (settings: Record<string, string>): string => {
    try {
      readNodeConfig({ ...byTemplate(), ...settings });
      return '';
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
  };
  const remote = { BERTH_LDAP_URL: 'ldap://directory.example.org' };
  expect(problemOf(remote)).toBe('');
  expect(problemOf({ ...remote, ...withTls('off') })).toMatch(
    /BERTH_LDAP_OPTIONS.tls: off is for a directory on this/,
  );
  expect(problemOf({ ...remote, ...withTls('insecure') })).toBe('');
  for (const host of ['127.0.0.1', 'localhost:1389', '[::1]'])
    expect(problemOf({ BERTH_LDAP_URL: `ldap://${host}`, ...withTls('off') })).toBe('');
  for (const host of ['127.0.0.1.example.org', 'localhost.example.org', '[::2]'])
    expect(problemOf({ BERTH_LDAP_URL: `ldap://${host}`, ...withTls('off') })).toMatch(
      /BERTH_LDAP_OPTIONS.tls/,
    );
  for (const url of [
    'http://directory',
    'ldap://',
    'ldap://user:word@directory',
    'ldap://a/dc=b',
    'ldap://a:99999',
  ])
    expect(problemOf({ BERTH_LDAP_URL: url })).toMatch(/BERTH_LDAP_URL: must be/);
  expect(problemOf({ ...remote, BERTH_LDAP_OPTIONS: '{"userFilter": "(uid=alice)"}' })).toMatch(
    /BERTH_LDAP_OPTIONS.userFilter: must contain \{name\}/,
  );
  expect(problemOf({ ...remote, BERTH_LDAP_USERS: '' })).toMatch(/BERTH_LDAP_USERS: must be set/);
});

test('H554: connections are kept and used again, and never more than the setting', async () => {
  const directory = await open({
    ...byTls(),
    ...byTemplate(),
    BERTH_LIMITS: JSON.stringify({ ldapConnections: 2 }),
  });
  for (let n = 0; n < 5; n++) expect(await verify(directory, 'alice')).toBe(true);
  expect(await server.connections()).toBe(1);
  await Promise.all([verify(directory, 'alice'), verify(directory, 'alice'), verify(directory, 'alice')]);
  expect(await server.connections()).toBe(2);
});

test('H554: a kept connection that the directory has closed is replaced by a new one, encrypted like the first', async () => {
  const directory = await open({ ...byStartTls(), ...byTemplate() });
  expect(await verify(directory, 'alice')).toBe(true);
  await server.end();
  await server.start();
  expect(await verify(directory, 'alice')).toBe(true);
  expect(events).toEqual([]);
});

test('H555: a directory that is down is reported once, and so is that it is back', async () => {
  const directory = await open({ ...byTls(), ...byTemplate() });
  await server.end();
  for (let n = 0; n < 3; n++) expect(await verify(directory, 'alice')).toBe('unavailable');
  await server.start();
  expect(await verify(directory, 'alice')).toBe(true);
  expect(events.map(({ event }) => event)).toEqual(['directory.failed', 'directory.recovered']);
  expect(String(events[0]?.reason)).toMatch(/ECONNREFUSED/);
});

test('H555: where the directory refuses the account that searches, nobody is refused for it', async () => {
  const directory = await open({ ...byTls(), ...bySearch(), BERTH_LDAP_BIND_PASSWORD: 'wrong' });
  expect(await verify(directory, 'alice')).toBe('unavailable');
  expect(String(events[0]?.reason)).toMatch(/BERTH_LDAP_OPTIONS.bindDn/);
});
