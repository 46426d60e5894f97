import { expect, test } from 'vitest';
import { application, service } from '../../support/fixtures/applications.ts';
import { pointersOf, problemsOf, withService } from '../../support/fixtures/problems.ts';

const without = (value: object, key: string): unknown =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

test.each(['name', 'version', 'will_end', 'size', 'services'])(
  'C21: the top level of a description requires %s',
  (key) => {
    expect(pointersOf(without(application(), key))).toEqual([`/${key}`]);
  },
);
test.each([
  ['name', 'ab'],
  ['name', 'a'.repeat(129)],
  ['name', 'with space'],
  ['version', 2],
  ['version', '3'],
  ['will_end', 'yes'],
  ['size', -1],
  ['size', 1.5],
  ['services', []],
  ['services', {}],
])('C21: the top level of a description refuses %s = %j', (key, value) => {
  expect(pointersOf({ ...application(), [key]: value })).toContain(`/${key}`);
});
test('C21: the top level of a description is an object with any valid name, at most 100 services and no unknown key', () => {
  for (const name of ['abc', 'A-1@b', 'a'.repeat(128)])
    expect(problemsOf({ ...application(), name }), name).toEqual([]);
  const services = Array.from({ length: 101 }, (_, n) => service({ name: `web${n}x` }));
  expect(pointersOf(application(...services))).toContain('/services');
  for (const input of [null, undefined, 3, 'text', []]) expect(pointersOf(input)).toEqual(['']);
  const unknown = { pointer: '/extra', message: 'is not a known key' };
  expect(problemsOf({ ...application(), extra: 1 })).toEqual([unknown]);
});

const counts = ['total_count', 'essential_count', 'startup_order'];
const lists = ['resources', 'environment', 'volumes', 'ports', 'command'];
test.each(['name', 'image', 'monitor', ...counts, ...lists])('C22: a service requires %s', (key) => {
  const input = { ...application(), services: [without(service(), key), service({ name: 'other' })] };
  expect(pointersOf(input)).toContain(`/services/0/${key}`);
});
test.each([
  ['name', 'ab'],
  ['name', 'a'.repeat(17)],
  ['name', '-abc'],
  ['name', 'abc-'],
  ['name', 'a_c'],
  ['monitor', 1],
  ['total_count', 0],
  ['total_count', 1.5],
  ['essential_count', -1],
  ['startup_order', 'first'],
  ['command', 7],
  ['replicas', -1],
  ['work_dir', 3],
  ['network', 3],
  ['user', 1000],
  ['labels', 'ssd'],
])('C22: the schema of a service refuses %s = %j', (key, value) => {
  expect(pointersOf(withService({ [key]: value }))).toContain(`/services/0/${key}`);
});
test('C22: the schema of a service accepts the optional fields', () => {
  const optional = { work_dir: '/tmp', labels: ['ssd'], network: 'shared', replicas: 1 };
  expect(problemsOf(withService({ ...optional, command: null }))).toEqual([]);
});
test('C195: user is a user id, or a user id and a group id', () => {
  for (const user of ['0', '1000', '1000:1000', '2147483647:0', null])
    expect(problemsOf(withService({ user }))).toEqual([]);
  for (const user of ['', 'root', '1000:', ':1', '1:2:3', '-1', '1 ', '2147483648', '1:2147483648', '0x1'])
    expect([user, pointersOf(withService({ user }))]).toEqual([user, ['/services/0/user']]);
});
test('C22: the schema of a service refuses an unknown key at any depth', () => {
  const port = { name: 'p', port_number: 80, protocol: 'tcp', url_template: 'http://{ip_port}/' };
  const input = withService({ color: 'red', ports: [{ ...port, 'odd/~key': 1 }] });
  expect(pointersOf(input)).toEqual(['/services/0/color', '/services/0/ports/0/odd~1~0key']);
});
const none = { min: null, max: null };
test.each([
  [{ resources: { memory: { min: -1, max: null }, cores: none } }, '/resources/memory/min'],
  [{ resources: { memory: { min: 1.5, max: null }, cores: none } }, '/resources/memory/min'],
  [{ resources: { memory: { min: 2, max: 1 }, cores: none } }, '/resources/memory/max'],
  [{ resources: { memory: none, cores: { min: 2, max: 1 } } }, '/resources/cores/max'],
  [{ resources: { memory: none } }, '/resources/cores'],
  [{ resources: { memory: none, cores: none, shm: -1 } }, '/resources/shm'],
  [{ environment: [['A']] }, '/environment/0'],
  [{ environment: [['A', 'b', 'c']] }, '/environment/0'],
  [{ environment: [['', 'b']] }, '/environment/0/0'],
  [{ environment: [['A=B', 'c']] }, '/environment/0/0'],
  [{ environment: [['A', 5]] }, '/environment/0/1'],
  [{ environment: [[{ toString: 1 }, 'b']] }, '/environment/0/0'],
  [{ environment: [['A', 'nul\0']] }, '/environment/0/1'],
  [{ volumes: [{ name: 'data', path: 'relative', read_only: true }] }, '/volumes/0/path'],
  [{ volumes: [{ name: '../up', path: '/x', read_only: true }] }, '/volumes/0/name'],
  [{ volumes: [{ name: 'data', path: '/x' }] }, '/volumes/0/read_only'],
  [{ volumes: ['/a', '/b'].map((path) => ({ name: 'data', path, read_only: true })) }, '/volumes/1/name'],
  [{ ports: [{ name: 'p', port_number: 0, protocol: 'tcp', url_template: '' }] }, '/ports/0/port_number'],
  [{ ports: [{ name: 'p', port_number: 80, protocol: 'sctp', url_template: '' }] }, '/ports/0/protocol'],
  [{ command: 'say "hello' }, '/command'],
])('C22: the schema of a service refuses %j', (changes, pointer) => {
  expect(pointersOf(withService(changes))).toEqual([`/services/0${pointer}`]);
});
test('C171: the schema of a service refuses a variable and a word that are too long to start a program with', () => {
  const longest = 'é'.repeat(65_535);
  const environment = [['A', `${longest}x`.slice(1)]];
  expect(problemsOf(withService({ environment, command: `say ${longest}x` }))).toEqual([]);
  const command = `say ${longest}xx`;
  const message = expect.stringContaining('131,071 bytes');
  expect(problemsOf(withService({ environment: [...environment, ['A', longest]], command }))).toEqual([
    { pointer: '/services/0/environment/1/1', message },
    { pointer: '/services/0/command', message },
  ]);
  // Together, the words of a command may have more.
  expect(problemsOf(withService({ command: '€€ '.repeat(20_000) }))).toEqual([]);
  const long = withService({ command: `say ${'€'.repeat(43_691)}` });
  expect(pointersOf(long)).toEqual(['/services/0/command']);
});
