import { expect, test } from 'vitest';
import { validateApplication } from '../../../shared/application.ts';
import { expandApplication } from '../../../shared/expand.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { brokenDescriptions } from '../../support/fixtures/bad-requests.ts';
import { pointersOf, problemsOf, withService } from '../../support/fixtures/problems.ts';

test('C23: essential_count is at most total_count, at least one service is a monitor, and names are unique', () => {
  const counts = { total_count: 2, essential_count: 3 };
  expect(pointersOf(withService(counts))).toEqual(['/services/0/essential_count']);
  expect(pointersOf(withService({ monitor: false }))).toEqual(['/services']);
  expect(pointersOf(application(service(), service()))).toEqual(['/services/1/name']);
});
test.each(['Web', 'WEB', 'wEb'])('H736: %s and web are one name, as they are in DNS', (name) => {
  const message = 'is also the name of service 0: DNS does not tell upper and lower case apart';
  const problem = { pointer: '/services/1/name', message };
  expect(problemsOf(application(service({ name: 'web' }), service({ name })))).toEqual([problem]);
  expect(problemsOf(application(service({ name }), service({ name: 'web' })))).toEqual([problem]);
});
test('C23, H736: instances of two services never share a name, not even in another case', () => {
  const many = { total_count: 11 };
  const pairs = [
    [service({ name: 'web', ...many }), service({ name: 'web1' }), 'web10'],
    [service({ name: 'Web', ...many }), service({ name: 'web1' }), 'web10'],
    [service({ name: 'web1' }), service({ name: 'WEB', ...many }), 'WEB10'],
  ] as const;
  for (const [first, second, instance] of pairs) {
    const message = `gives an instance the name ${instance}, which is also an instance of service 0`;
    expect(problemsOf(application(first, second))).toEqual([{ pointer: '/services/1/name', message }]);
  }
  const alike = application(service({ name: 'web', total_count: 10 }), service({ name: 'web1' }));
  expect(problemsOf(alike)).toEqual([]);
});
test('C24, H736: a reference names an instance in its own case', () => {
  const refers = (instance: string) =>
    withService({ name: 'Web', environment: [['A', `{dns_name#${instance}}`]] });
  expect(pointersOf(refers('Web0'))).toEqual([]);
  expect(pointersOf(refers('web0'))).toEqual(['/services/0/environment/0/1']);
});
test('C23: pointers count every entry of services, even one that is not an object', () => {
  const pointersBeside = (second: object) => pointersOf({ ...application(), services: [3, second] });
  expect(pointersBeside(service({ monitor: false }))).toEqual(['/services/0', '/services']);
  const pointers = pointersBeside(service({ essential_count: 2 }));
  expect(pointers).toEqual(['/services/0', '/services/1/essential_count']);
});
test('C23: an application has at most 1000 instances in all', () => {
  const half = { total_count: 500, essential_count: 0 };
  const two = [service({ name: 'one', ...half }), service({ name: 'two', ...half })];
  expect(problemsOf(application(...two))).toEqual([]);
  expect(pointersOf(application(...two, service({ name: 'three' })))).toEqual(['/services']);
});

const labelled = (...lists: string[][]) =>
  application(...lists.map((labels, at) => service({ name: `service${at}x`, labels })));
const long = (at: number) => `${at}`.padStart(256, 'x');
test('H373: a label has at most 256 characters, and a service at most 100 labels', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => `label${at}`);
  expect(problemsOf(labelled([long(0)], hundred))).toEqual([]);
  expect(pointersOf(labelled([`${long(0)}x`], [...hundred, 'more']))).toEqual([
    '/services/1/labels',
    '/services/0/labels/0',
  ]);
});
test('H373: the different labels have at most 4096 characters in all', () => {
  const sixteen = Array.from({ length: 16 }, (_, at) => long(at));
  expect(problemsOf(labelled(sixteen, sixteen))).toEqual([]);
  expect(problemsOf(labelled(sixteen, ['y']))).toEqual([
    { pointer: '/services', message: 'has labels of 4097 characters in all; the limit is 4096' },
  ]);
});

const variables = (count: number) =>
  Array.from({ length: count }, (_, at): [string, string] => [`V${at}`, '']);
const tenServices = (...more: ReturnType<typeof service>[]) =>
  application(
    ...Array.from({ length: 10 }, (_, at) => service({ name: `web${at}x`, environment: variables(1000) })),
    ...more,
  );
test('H376: 10,000 variables, volumes, ports and labels in all are valid, and one more is a problem', () => {
  expect(problemsOf(tenServices())).toEqual([]);
  const message = 'has 10001 variables, volumes, ports and labels in all; the limit is 10000';
  const problem = { pointer: '/services', message };
  for (const more of [{ environment: variables(1) }, { labels: ['ssd'] }])
    expect(problemsOf(tenServices(service({ name: 'more', ...more })))).toEqual([problem]);
  // Entries beyond the limit are not checked one by one, and other problems are still reported.
  const environment = Array.from({ length: 1000 }, (): [string, string] => ['=', '{nope}']);
  const pointers = pointersOf(tenServices(service({ name: 'x', environment })));
  expect(pointers).toEqual(['/services/10/name', '/services']);
});

test.each([
  ['a count', { total_count: 0, essential_count: 5 }, ['/services/0/total_count']],
  ['a name', { name: 'n'.repeat(17), command: '{dns_name#web7}' }, ['/services/0/name']],
  ['a range', { resources: { memory: { min: 2, max: 1 }, cores: null } }, ['/services/0/resources/cores']],
  [
    'a volume',
    { volumes: [{ name: 'v' }, { name: 'v', path: '/a', read_only: true }] },
    ['/services/0/volumes/0/path', '/services/0/volumes/0/read_only'],
  ],
  ['a variable', { environment: [['A=B', '{nope}']] }, ['/services/0/environment/0/0']],
  ['a list that is too long', { environment: Array(1001).fill(0) }, ['/services/0/environment']],
])('H306: %s that fails by itself is not compared with other fields', (_, changes, pointers) => {
  expect(pointersOf(withService(changes))).toEqual(pointers);
});

const all =
  '{user_name} {execution_id} {execution_name} {deployment_name} {dns_name#self} {dns_name#web0} {dns_name#web1}';
test('C24: known variables are accepted in environment and command', () => {
  expect(problemsOf(withService({ total_count: 2, environment: [['A', all]], command: all }))).toEqual([]);
});
test('C24: an unknown variable is refused by name, once in a value, in the words of a command too, and any other text is plain', () => {
  const ofValue = (text: string) => problemsOf(withService({ environment: [['A', text]] }));
  for (const text of ['{nope}', '{dns_name}', '{dns_name#web1}', '{dns_name#other0}', '{user_name#self}']) {
    const problem = { pointer: '/services/0/environment/0/1', message: expect.stringContaining(text) };
    expect(ofValue(`x ${text} y`)).toEqual([problem]);
  }
  for (const text of ['{{nope}}', `\${shell}`, '{"json": 1}', '{}', '{ spaced }', '{UPPER}', 'a{1..3}'])
    expect(ofValue(text), text).toEqual([]);
  for (const command of ['echo \\{nope\\}', '{no"p"e}'])
    expect(pointersOf(withService({ command })), command).toEqual(['/services/0/command']);
  expect(problemsOf(withService({ command: '{a} {a} {b}' }))).toHaveLength(2);
});
test.each([
  ['no total_count', { total_count: 0 }],
  ['a total_count below essential_count', { total_count: 1, essential_count: 2 }],
])('H601: with %s of a service, no variable for one of its instances is reported', (_, counts) => {
  const front = service({ command: 'wait-for {dns_name#back1}', environment: [['B', '{dns_name#back1}']] });
  const back = service({ name: 'back', monitor: false, ...counts });
  const pointers = pointersOf(application(front, back));
  expect(pointers).toEqual([expect.stringMatching(/^\/services\/1\/\w+_count$/)]);
});

test('C25: validation reports every problem at once', () => {
  const services = [
    { ...service({ monitor: false, essential_count: 5 }), image: 1, color: 'red' },
    service({ monitor: false, environment: [['A', '{nope}']] }),
  ];
  expect(pointersOf({ name: 'x', version: 2, will_end: true, size: 1, services }).toSorted()).toEqual([
    ...['/name', '/services', '/services/0/color', '/services/0/essential_count', '/services/0/image'],
    ...['/services/1/environment/0/1', '/services/1/name', '/version'],
  ]);
});
test('C25, H190: validation reports a problem in words for any value in any place, or accepts what can be expanded', () => {
  const texts = brokenDescriptions();
  expect(texts.length).toBeGreaterThan(500);
  let valid = 0;
  for (const text of texts) {
    const validation = validateApplication(JSON.parse(text));
    if (validation.valid) {
      valid += 1;
      expect(expandApplication(validation.application).length, text).toBeGreaterThan(0);
    } else {
      for (const { message } of validation.problems) expect(message, text).toMatch(/\S/);
    }
  }
  expect(valid).toBeGreaterThan(0);
  expect(valid).toBeLessThan(texts.length / 4);
});
