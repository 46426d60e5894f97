import { describe, expect, test } from 'vitest';
import { application, service } from '../../support/fixtures/applications.ts';
import { pointersOf, problemsOf, withService } from '../../support/fixtures/problems.ts';

const without = (value: object, key: string): unknown =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

describe('C21: the top level of a description', () => {
  test.each(['name', 'version', 'will_end', 'size', 'services'])('C21: requires %s', (key) => {
    expect(pointersOf(without(application(), key))).toEqual([`/${key}`]);
  });
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
  test.each(['abc', 'A-1@b', 'a'.repeat(128)])(
    'C21: the top level of a description accepts the name %s',
    (name) => {
      expect(problemsOf({ ...application(), name })).toEqual([]);
    },
  );
  test('C21: the top level of a description refuses more than 100 services', () => {
    const services = Array.from({ length: 101 }, (_, n) => service({ name: `web${n}x` }));
    expect(pointersOf(application(...services))).toContain('/services');
  });
  test.each([null, undefined, 3, 'text', []])('C21: the top level of a description cannot be %j', (input) => {
    expect(pointersOf(input)).toEqual(['']);
  });
  test('C21: the top level of a description refuses an unknown key and names it', () => {
    expect(problemsOf({ ...application(), extra: 1 })).toEqual([
      { pointer: '/extra', message: 'is not a known key' },
    ]);
  });
});

describe('C22: a service', () => {
  const counts = ['total_count', 'essential_count', 'startup_order'];
  const lists = ['resources', 'environment', 'volumes', 'ports', 'command'];
  test.each(['name', 'image', 'monitor', ...counts, ...lists])('C22: requires %s', (key) => {
    const input = { ...application(), services: [without(service(), key), service({ name: 'other' })] };
    expect(pointersOf(input)).toContain(`/services/0/${key}`);
  });
  test.each([
    ['name', 'ab'],
    ['name', 'a'.repeat(17)],
    ['name', '-abc'],
    ['name', 'abc-'],
    ['name', 'a_c'],
    ['image', ''],
    ['image', 'two words'],
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
    const port = {
      name: 'p',
      port_number: 80,
      protocol: 'tcp',
      url_template: 'http://{ip_port}/',
      'odd/~key': 1,
    };
    const input = withService({ color: 'red', ports: [port] });
    expect(pointersOf(input)).toEqual(['/services/0/color', '/services/0/ports/0/odd~1~0key']);
  });
  test.each([
    [{ memory: { min: -1, max: null }, cores: { min: null, max: null } }, '/memory/min'],
    [{ memory: { min: 1.5, max: null }, cores: { min: null, max: null } }, '/memory/min'],
    [{ memory: { min: 2, max: 1 }, cores: { min: null, max: null } }, '/memory/max'],
    [{ memory: { min: null, max: null }, cores: { min: 2, max: 1 } }, '/cores/max'],
    [{ memory: { min: null, max: null } }, '/cores'],
    [{ memory: { min: null, max: null }, cores: { min: null, max: null }, shm: -1 }, '/shm'],
  ])('C22: the schema of a service refuses the resources %j', (resources, pointer) => {
    expect(pointersOf(withService({ resources }))).toEqual([`/services/0/resources${pointer}`]);
  });
  test.each([
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
    expect(problemsOf(withService({ environment: [...environment, ['A', longest]], command }))).toEqual([
      { pointer: '/services/0/environment/1/1', message: expect.stringContaining('131,071 bytes') },
      { pointer: '/services/0/command', message: expect.stringContaining('131,071 bytes') },
    ]);
  });
  test('C171: the words of a command may have more bytes together than one of them may have', () => {
    expect(problemsOf(withService({ command: '€€ '.repeat(20_000) }))).toEqual([]);
    expect(pointersOf(withService({ command: `say ${'€'.repeat(43_691)}` }))).toEqual([
      '/services/0/command',
    ]);
  });
  test('C22: the schema of a service refuses two volumes with the same name', () => {
    const volume = { name: 'data', path: '/a', read_only: true };
    expect(pointersOf(withService({ volumes: [volume, { ...volume, path: '/b' }] }))).toEqual([
      '/services/0/volumes/1/name',
    ]);
  });
});
