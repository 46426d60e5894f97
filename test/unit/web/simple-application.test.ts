import { expect, test } from 'vitest';
import {
  checkSimple,
  FRESH,
  readSimple,
  type SimpleApplication,
} from '../../../control-plane/web/description/simple-application.ts';
import { simpleFrom } from '../../../control-plane/web/description/simple-from.ts';
import { validateApplication } from '../../../shared/application.ts';
import { IMAGE_REFERENCE_PROBLEM } from '../../../shared/image-reference.ts';

const typed = (changes: Partial<SimpleApplication> = {}) =>
  checkSimple({ ...FRESH, name: 'My web page', image: 'nginx:alpine', ...changes });
const serviceOf = (changes: Partial<SimpleApplication>) => typed(changes).body?.application.services[0];

test('W43: the form becomes an application of one service', () => {
  const { body } = typed();
  expect(body?.name).toBe('My web page');
  expect(body?.application).toMatchObject({ name: 'My-web-page', version: 3, will_end: true });
  const resources = { memory: { min: 2 ** 29, max: 2 ** 29 }, cores: { min: 1, max: 1 } };
  const main = { name: 'main', image: 'nginx:alpine', command: null, resources };
  expect(body?.application.services).toMatchObject([
    { ...main, monitor: true, total_count: 1, essential_count: 1 },
  ]);
  for (const name of ['x', 'ä ö', '42', 'a'.repeat(128), '--', 'My web page'])
    expect(validateApplication(typed({ name }).body?.application), name).toMatchObject({ valid: true });
});
test('W43, W157: units and fractions are converted, an empty amount reserves nothing, and 0 and the least that the engine accepts are taken', () => {
  expect(serviceOf({ memory: '0', cores: '0' })?.resources).toMatchObject({ memory: { max: 0 } });
  expect(serviceOf({ memory: '6' })?.resources).toMatchObject({ memory: { max: 6 * 2 ** 20 } });
  const resources = serviceOf({ memory: '1.5', memory_unit: 'GiB', cores: '0,25' })?.resources;
  expect(resources).toMatchObject({ memory: { min: 1.5 * 2 ** 30 }, cores: { max: 0.25 } });
  const none = { min: null, max: null };
  expect(serviceOf({ memory: '', cores: '' })?.resources).toEqual({ memory: none, cores: none });
});
test('W43: a port becomes an endpoint, with a default name if none was typed', () => {
  const ports = [
    { number: '8080', name: '', kind: 'http' },
    { number: '', name: '', kind: 'tcp' },
    { number: '53', name: 'Names', kind: 'udp' },
  ];
  expect(serviceOf({ ports })?.ports).toEqual([
    { name: 'Port 8080', port_number: 8080, protocol: 'tcp', url_template: 'http://{ip_port}/' },
    { name: 'Names', port_number: 53, protocol: 'udp', url_template: 'udp://{ip_port}' },
  ]);
});
test('W221: the boxes of the form share the web applications and keep ports off the host, and are ticked for such a description', () => {
  const form = new URLSearchParams({ name: 'n', image: 'i', share: 'users', publish: 'no' });
  const { body } = checkSimple({ ...FRESH, ...readSimple(form), cores: '1', memory_unit: 'MiB' });
  expect(body?.application).toMatchObject({ share: 'users', services: [{ publish: false }] });
  const ticked = { isShared: true, isUnpublished: true };
  expect(simpleFrom('n', JSON.stringify(body?.application))).toMatchObject(ticked);
  expect(readSimple(new URLSearchParams())).toMatchObject({ isShared: false, isUnpublished: false });
  expect(JSON.stringify(typed().body?.application)).not.toMatch(/share|publish/);
});
test('W43: the environment has one variable per line, whose value may contain anything', () => {
  const environment = ' A=b=c d \n\nURL=http://{dns_name#self}/\nEMPTY=';
  expect(serviceOf({ environment })?.environment).toEqual([
    ['A', 'b=c d '],
    ['URL', 'http://{dns_name#self}/'],
    ['EMPTY', ''],
  ]);
});
test('W43: a posted form is read as it was shown, whatever rows are left', () => {
  const form = new URLSearchParams({
    ...{ name: 'n', image: ' i ', 'port_number-0': '1', 'port_kind-0': 'tcp', 'port_number-7': '2' },
    environment: 'A=1\r\nB=2',
  });
  expect(readSimple(form)).toMatchObject({
    ...{ name: 'n', image: 'i', environment: 'A=1\nB=2' },
    ports: [
      { number: '1', name: '', kind: 'tcp' },
      { number: '2', name: '', kind: '' },
    ],
  });
});

test('W43: rows and lines beyond the limits of a description are reported, however many there are', () => {
  const rows = Array.from({ length: 5_000 }, (_, n): [string, string] => [`port_number-${n}`, '80']);
  const form = new URLSearchParams([...rows, ['name', 'n'], ['image', 'i'], ['memory_unit', 'MiB']]);
  form.set('environment', 'A=1\n'.repeat(100_000));
  expect(checkSimple(readSimple(form)).problems).toEqual({
    environment: 'must have at most 1000 entries',
    ports: 'must have at most 256 entries',
  });
});

const port = (number: string, name = '') => ({ number, name, kind: 'http' });
const any = expect.any(String);
test.each<[string, Partial<SimpleApplication>, Record<string, string>]>([
  ['an empty required field', { name: ' ', image: '' }, { name: 'is required', image: 'is required' }],
  ['an image with spaces', { image: 'a b' }, { image: IMAGE_REFERENCE_PROBLEM }],
  [
    'an amount that is not a number',
    { memory: 'much', cores: '1 core' },
    { memory: 'must be a number', cores: 'must be a number' },
  ],
  ['too much memory', { memory: '9'.repeat(20) }, { memory: any }],
  ['an unknown unit', { memory_unit: 'toString' }, { memory: 'must have the unit MiB or GiB' }],
  ['a command with an open quote', { command: 'sh -c "' }, { command: 'has no closing "' }],
  ['an invalid port', { ports: [port('1'), port('70000')] }, { 'port_number-1': 'must be at most 65535' }],
  ['a port in a row after an empty one', { ports: [port(''), port('http')] }, { 'port_number-1': any }],
  ['a port with only a name', { ports: [port('', 'Web')] }, { 'port_number-0': any }],
  ['a long name of a port', { ports: [port('1', 'a'.repeat(129))] }, { 'port_name-0': any }],
  [
    'a negative amount',
    { memory: '-0.5', cores: ' -1' },
    { memory: 'must be at least 0', cores: 'must be at least 0' },
  ],
  [
    'a memory limit that the engine refuses',
    { memory: '0.1', memory_unit: 'MiB' },
    { memory: 'must be at least 6 MiB, or 0 for the default: the engine accepts no smaller limit' },
  ],
])('W43, W157: %s is reported at its field, in words of the form', (_, changes, problems) => {
  expect(typed(changes).problems).toEqual(problems);
});

const tenLines = 'lines 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 must be NAME=value; 2 more lines have problems';
const kinds = 'lines 1 and 4: must be a name without "="; line 2 must be NAME=value';
test.each([
  ['a line without =', 'A=1\n\nB', 'line 3 must be NAME=value'],
  ['a line without a name', 'A=1\n\n=2', expect.stringMatching(/^line 3: /)],
  ['an unknown variable', 'A=\nB={nope}', expect.stringMatching(/^line 2: .*nope/)],
  ['each line without a value', 'A=1\n\nB\nC\nD=2\nE', 'lines 3, 4 and 6 must be NAME=value'],
  ['lines with several kinds of problems', '=1\nB\nC=\n=2', kinds],
  ['more lines than are named', 'B\n'.repeat(12), tenLines],
])('W43, W157: of the environment %s is reported at its field, too', (_, environment, problem) => {
  expect(typed({ environment }).problems).toEqual({ environment: problem });
});
