/** Several servers of a directory, which is asked and when the next one, and the time of refusals. */
import { beforeEach, expect, test } from 'vitest';
import { readNodeConfig } from '../../../control-plane/config.ts';
import { plainName } from '../../../control-plane/core/accounts/sign-on.ts';
import { RefusalTimes, Servers } from '../../../control-plane/directory/ldap-directory.ts';
import { ldapConfigOf } from '../../../control-plane/directory/ldap-settings.ts';
import {
  type Asked,
  entry,
  opened,
  REQUEST,
  RESPONSE,
  result,
  ScriptedDirectory,
} from '../../support/directory/scripted-directory.ts';

let events: { event: string; server?: unknown }[] = [];
beforeEach(() => {
  events = [];
});
const { start } = ScriptedDirectory;

const configOf = (urls: string) =>
  ldapConfigOf(
    readNodeConfig({
      BERTH_LDAP_URL: urls,
      BERTH_LDAP_USERS: 'uid={name},dc=example',
      BERTH_LDAP_OPTIONS: '{"tls": "off"}',
      BERTH_LIMITS: JSON.stringify({ ldapTimeoutS: 2 }),
    }),
  );
const openWith = (config: ReturnType<typeof configOf>) =>
  opened(config, (event, fields) => void events.push({ event, ...fields }));
const open = (...urls: string[]) => openWith(configOf(urls.join(' ')));

const accepts = ({ id, socket }: Asked) => void socket.write(result(id, RESPONSE.bind));
const refuses = ({ id, socket }: Asked) => void socket.write(result(id, RESPONSE.bind, 49));

test.each<[string, (asked: Asked) => void]>([
  ['answers nothing', () => {}],
  ['ends the connection', ({ socket }) => void socket.destroy()],
  ['sends something malformed', ({ socket }) => void socket.write('HTTP/1.1 200 OK')],
  ['answers that it is busy', ({ id, socket }) => void socket.write(result(id, RESPONSE.bind, 51))],
])(
  'H648: if the first server %s, the second one is asked, and goes first from then on',
  async (_, answer) => {
    const [first, second] = [await start(answer), await start(accepts)];
    const directory = await open(first.url, second.url);
    expect(await directory.verify('alice', 'secret words')).toBe(true);
    expect(events.map(({ event, server }) => [event, `ldap://${server}`])).toEqual([
      ['directory.server-failed', first.url],
    ]);
    await Promise.all(Array.from({ length: 3 }, () => directory.verify('alice', 'secret words')));
    expect([first.connections, second.connections]).toEqual([1, 3]);
  },
);

test('H648: a kept connection to a server that has stopped answering leaves time for the next server', async () => {
  let isSilent = false;
  const first = await start((asked) => (isSilent ? undefined : accepts(asked)));
  const second = await start(accepts);
  const directory = await open(first.url, second.url);
  expect(await directory.verify('alice', 'secret words')).toBe(true);
  isSilent = true;
  expect(await directory.verify('alice', 'secret words')).toBe(true);
  expect([first.connections, second.connections]).toEqual([2, 1]);
});

test('H648: a refusal by the first server counts, and no other one gets the password', async () => {
  const [first, second] = [await start(refuses), await start(accepts)];
  const directory = await open(first.url, second.url);
  expect(await directory.verify('alice', 'secret words')).toBe(false);
  expect([second.connections, events]).toEqual([0, []]);
});

test('H648: a server that has failed is tried last for 30 s, and others keep their order', () => {
  let nowMs = 0;
  const config = configOf('ldap://127.0.0.1:1 ldap://127.0.0.1:2  ldap://127.0.0.1:3');
  const servers = new Servers(config?.servers ?? [], () => nowMs);
  const ports = () => servers.inOrder().map(({ port }) => port);
  const [first] = servers.inOrder();
  if (!first) throw new Error('no server');
  servers.failed(first);
  expect(ports()).toEqual([2, 3, 1]);
  nowMs = 30_000;
  expect(ports()).toEqual([1, 2, 3]);
  servers.failed(first);
  servers.worked(first);
  expect(ports()).toEqual([1, 2, 3]);
});

test('H648: each of several servers is checked like one, and there are at most 8', () => {
  const here = 'ldap://localhost';
  expect(() => configOf(Array(8).fill(here).join(' '))).not.toThrow();
  for (const [urls, problem] of [
    [Array(9).fill(here).join(' '), /at most 8/],
    [`${here} http://localhost`, /BERTH_LDAP_URL: must be/],
    [`${here} ldap://directory.example.org`, /BERTH_LDAP_OPTIONS.tls: off/],
    [`${here} ldaps://localhost`, /must be on with ldaps/],
  ] as const)
    expect(() => configOf(urls)).toThrow(problem);
});

test('H650: a name that nobody has is refused as slowly as a wrong password, where the directory hashes only those of entries', async () => {
  const server = await start((asked) => {
    if (!server.received.includes('alice')) return refuses(asked);
    return void setTimeout(() => refuses(asked), 100);
  });
  const directory = await open(server.url);
  const timeOf = async (name: string | undefined) => {
    const beganMs = performance.now();
    server.received = Buffer.alloc(0);
    expect(await directory.verify(name, 'wrong words')).toBe(false);
    return performance.now() - beganMs;
  };
  expect(await timeOf('alice')).toBeGreaterThan(90);
  for (let n = 0; n < 3; n++) expect(await timeOf(undefined)).toBeGreaterThan(90);
});

test('H650: of the times of refusals the last 32 count, and each may be the one', () => {
  const times = new RefusalTimes();
  expect(times.sample(0.5)).toBe(0);
  for (let ms = 1; ms <= 100; ms++) times.add(ms);
  expect([times.sample(0), times.sample(0.5), times.sample(0.999)]).toEqual([69, 85, 100]);
});

test.each([
  [400, 400],
  [401, 'unavailable'],
])('H649: a user with %d groups has %s', async (count, expected) => {
  const server = await start(({ id, operation, socket }) => {
    const entries = Array.from({ length: count }, (_, n) => entry(id, `cn=${n},dc=g`));
    if (operation !== REQUEST.search) socket.write(result(id, RESPONSE.bind));
    else socket.write(Buffer.concat([...entries, result(id, RESPONSE.searchDone)]));
  });
  const config = configOf(server.url);
  if (!config) throw new Error('no directory');
  const directory = await openWith({ ...config, groups: { base: 'dc=g', filter: '(member={dn})' } });
  const found = directory.groupsOf('ann').then((all) => all.length);
  expect(await found.catch((error) => error.code)).toBe(expected);
});

test('H649: a table of groups needs a base, and names of groups are alike in any capitals', () => {
  const settings = { BERTH_LDAP_URL: 'ldap://localhost', BERTH_LDAP_USERS: 'uid={name},dc=a' };
  const table = { ...settings, BERTH_LDAP_OPTIONS: '{"groups": [{"group": "*", "role": "user"}]}' };
  expect(() => readNodeConfig(table)).toThrow(
    'BERTH_LDAP_OPTIONS.groups: must be set together with groupBase',
  );
  expect(plainName(' CN=Staff , OU=Groups,dc=a')).toBe('cn=staff,ou=groups,dc=a');
});
