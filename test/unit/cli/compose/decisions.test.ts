import { expect, test } from 'vitest';
import { orderOf } from '../../../../cli/compose/order.ts';
import { Remarks } from '../../../../cli/compose/remarks.ts';
import { withReferences } from '../../../../cli/compose/texts.ts';
import { splitCommand } from '../../../../shared/command.ts';
import { substitute, type Variables } from '../../../../shared/variables.ts';
import { fc } from '../../../support/tools/random-cases.ts';
import { mainFile, mainOf, problemsOf, remarksOf, translated } from './translated.ts';

/** Services by name with their fields, in one line each. */
const file = (services: Record<string, string>, top = ''): string =>
  `${top}services:\n${Object.entries(services)
    .map(([name, fields]) => `  ${name}: {image: i, ${fields}}\n`)
    .join('')}`;

/** Monitor services, and whether the application ends. */
const decided = (services: Record<string, string>): [string[], boolean] => {
  const { description } = translated(file(services));
  const monitors = description.services.filter(({ monitor }) => monitor).map(({ name }) => name);
  return [monitors, description.will_end];
};

test.each<[string, Record<string, string>, string[], boolean]>([
  ['the only service', { one: '' }, ['one'], true],
  ['the only service, which serves', { one: 'ports: [80]' }, ['one'], false],
  ['the only service, which starts again', { one: 'restart: always' }, ['one'], false],
  ['what nothing depends on', { sql: '', job: 'depends_on: [sql]' }, ['job'], true],
  ['a job beside a server', { web: 'ports: [80]', job: '' }, ['job'], true],
  [
    'servers alone',
    { web: 'ports: [80]', api: 'ports: [81]', sql: 'restart: always' },
    ['web', 'api', 'sql'],
    false,
  ],
  ['several jobs', { one: '', two: 'restart: "no"' }, ['one', 'two'], true],
  ['restart of deploy', { web: 'deploy: {restart_policy: {condition: any}}', job: '' }, ['job'], true],
  ['what x-berth names', { web: 'ports: [80], x-berth: {monitor: true}', job: '' }, ['web'], false],
  [
    'a needed service that x-berth names',
    { sql: 'x-berth: {monitor: true}', job: 'depends_on: [sql]' },
    ['sql'],
    true,
  ],
  ['what x-berth leaves', { web: 'ports: [80]', job: 'x-berth: {monitor: false}' }, ['web'], false],
])('L76: the monitors are %s', (_, services, monitors, willEnd) => {
  expect(decided(services)).toEqual([monitors, willEnd]);
});
test('L71, L76: a guess among several services is listed', () => {
  const guessed = file({ sql: '', job: 'depends_on: [sql]' });
  expect(remarksOf(guessed)).toEqual({ leftOut: [], notes: ['3:3 services.job'] });
  const given = file({ sql: '', job: 'depends_on: [sql], x-berth: {monitor: true}' });
  expect(remarksOf(given)).toEqual({ leftOut: [], notes: [] });
});

test('L76: in the order of start each service comes after those that it needs', () => {
  const api = 'depends_on: {sql: {condition: service_started}, none: {required: false}}';
  const text = file({ web: 'depends_on: [api, sql]', api, sql: '', job: '' });
  const { services } = translated(text).description;
  expect(services.map(({ startup_order }) => startup_order)).toEqual([2, 1, 0, 0]);
});
test('L71, L76: that a service has to complete is listed, and an unknown condition is a problem', () => {
  const needs = 'depends_on: {sql: {condition: service_completed_successfully}}';
  const place = '3:38 services.web.depends_on.sql.condition';
  expect(remarksOf(file({ sql: '', web: needs })).leftOut).toEqual([place]);
  const unknown = needs.replace('completed_successfully', 'ready');
  const known = 'must be service_started, service_healthy or service_completed_successfully';
  expect(problemsOf(file({ sql: '', web: unknown }))).toEqual([expect.stringContaining(known)]);
});
test('L72, L76: a circle is named', () => {
  const services = { one: 'depends_on: [two]', two: 'depends_on: [tri]', tri: 'depends_on: [two]' };
  expect(problemsOf(file(services))).toEqual([
    '3:19 services.two.depends_on closes a circle: two -> tri -> two; remove one of these dependencies',
  ]);
});
test('L76: any dependencies have an order after all that they need, or a circle of them', () => {
  const edges = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 15 });
  fc.assert(
    fc.property(edges, (pairs) => {
      const needs = new Map(Array.from({ length: 10 }, (_, n) => [`${n}`, new Set<string>()]));
      for (const [from, to] of pairs) needs.get(`${from}`)?.add(`${to}`);
      const orders = orderOf(new Map([...needs].map(([name, all]) => [name, [...all]])));
      if ('circle' in orders) {
        expect(orders.circle.length).toBeGreaterThan(1);
        expect(orders.circle.at(-1)).toBe(orders.circle[0]);
        for (const [at, name] of orders.circle.entries())
          if (at > 0) expect(needs.get(orders.circle[at - 1] ?? '')).toContain(name);
        return;
      }
      for (const [name, all] of needs)
        for (const one of all) expect(orders.get(one)).toBeLessThan(orders.get(name) ?? -1);
    }),
  );
});

test('L77: fields of x-berth win as they are', () => {
  const own =
    'x-berth: {name: main-1, total_count: 5, essential_count: 2, labels: [gpu], command: "{foo} $A", ports: []}';
  const text = `x-berth: {name: an-app, will_end: false, size: 7}\n${mainFile(`ports: [80]\ncommand: x\n${own}`)}`;
  const { description } = translated(text.replace('"{foo} $A"', '"{user_name} $A"'));
  expect(description).toMatchObject({ name: 'an-app', will_end: false, size: 7 });
  expect(description.services[0]).toMatchObject({
    ...{ name: 'main-1', image: 'i', monitor: true, total_count: 5, essential_count: 2, labels: ['gpu'] },
    ...{ command: '{user_name} $A', ports: [] },
  });
  const [problem] = problemsOf(text);
  expect(problem).toMatch(
    /^7:80 services.main.x-berth.command is .services.0.command of the description, which uses the unknown/,
  );
});

test('L77, H740, H742: x-berth shares the web applications, and keeps ports off the host', () => {
  const fields = mainFile('ports: [80]\nx-berth: {publish: false}');
  const { description } = translated(`x-berth: {share: users}\n${fields}`);
  expect(description).toMatchObject({ share: 'users', services: [{ publish: false }] });
  expect(problemsOf(`x-berth: {share: all}\n${fields}`).join(' ')).toContain('share');
});

test('L77: without essential_count of its own, all instances of x-berth are essential', () => {
  expect(mainOf('x-berth: {total_count: 4}')).toMatchObject({ total_count: 4, essential_count: 4 });
});

test('L72, H736, H737: names that differ only in case, and a wrong image, have their places', () => {
  const image =
    '1:35 services.Web.image is /services/1/image of the description, which must be an image name';
  const name =
    '1:29 services.Web is /services/1/name of the description, which is also the name of service 0';
  expect(problemsOf('services: {web: {image: i}, Web: {image: "http://x/y"}}')).toEqual([
    expect.stringContaining(image),
    expect.stringContaining(name),
  ]);
});

const known: Variables = {
  ...{ user_name: 'u', execution_id: '1', execution_name: 'n', deployment_name: 'd' },
  dnsName: (instance) => instance,
  secret: (name) => `<${name}>`,
};
/** The value that the container gets. */
const given = (text: string) => {
  const { environment } = mainOf(`environment: ${JSON.stringify({ A: text.replaceAll('$', '$$$$') })}`);
  return substitute(environment[0]?.[1] ?? '', known);
};
test.each([
  ['{user_name} {dns_name#main0}', 'u main0'],
  ['{secret#DBPASS} {secret#DB_PASS} x{secret#a-b}y', '<DBPASS> <DB_PASS> x<a-b>y'],
  ['{foo} {{foo}} {"a": 1} ${foo} {{.Node}} {foo#a}'],
  ['{{x}} {{{x}}} {x}} {{x}'],
  ['{dns_name} {secret} {user_name#a}'],
  ['{{user_name}} ${user_name}'],
  ['{{secret#A}} ${secret#A} {{dns_name#main0}}'],
  ['${{user_name}} {{secret#a.b}}'],
  ['{secret#'],
])('L79: references in %j', (text, becomes = text) => {
  expect(given(text)).toBe(becomes);
});
test('L79: text in braces that names no reference of Berth stays as it is', () => {
  const parts = ['{', '}', '$', 'foo', '#a', ' ', '{{user_name}}', '${secret#A}', '{{secret#A}}'];
  const texts = fc.array(fc.constantFrom(...parts)).map((some) => some.join(''));
  const remarks = new Remarks(() => ({ line: 1, column: 1 }));
  fc.assert(
    fc.property(texts, (text) => {
      expect(substitute(withReferences([text], [], remarks)[0] ?? '', known)).toBe(text);
    }),
  );
  expect(remarks.notes).toEqual([]);
});
test('L79: names that Berth fills in are listed, those of instances and secrets are not', () => {
  const text = mainFile(
    'environment: {A: "{user_name} {user_name} {execution_id}", B: "{dns_name#main0} {secret#A} {{user_name}}"}\n' +
      'command: echo "{deployment_name}"',
  );
  expect(remarksOf(text).notes).toEqual([
    '4:19 services.main.environment.A',
    '4:19 services.main.environment.A',
    '5:5 services.main.command',
  ]);
});
test.each([
  ['{secret#my.db}', 'names of secrets have letters, digits'],
  ['{secret#}', 'names of secrets have letters, digits'],
  ['{secret# A}', 'names of secrets have letters, digits'],
  ['{secret#9a}', 'the name of a secret begins with a letter'],
  [`{secret#${'a'.repeat(65)}}`, 'the name of a secret begins with a letter'],
  ['{dns_name#other0}', 'uses the unknown variable {dns_name#other0}'],
])('L79: %s is refused with its place', (value, reason) => {
  const [problem, ...more] = problemsOf(mainFile(`environment: {A: "${value}"}`));
  expect(problem).toMatch(/^4:19 services.main.environment.A /);
  expect(problem).toContain(reason);
  expect(more).toEqual([]);
});
test('L79: a command must not have secrets, in either form, and a check neither', () => {
  const refused = [expect.stringContaining('a command must not have secrets')];
  for (const command of ['echo {secret#A}', '[echo, "{secret#A}"]', 'echo {secr"et#A}"'])
    expect(problemsOf(mainFile(`command: ${command}`))).toEqual(refused);
  expect(problemsOf(mainFile('healthcheck: {test: "echo {secret#A}"}'))).toEqual(refused);
});
test.each([
  ['awk {print}', 'awk', '{print}'],
  ["awk '{print} {{x}}'", 'awk', '{print} {{x}}'],
  ['echo {fo"o"} "{{"user_name}}', 'echo', '{foo}', '{{user_name}}'],
  ['echo \\{foo} {"dns_name#main0}"', 'echo', '{foo}', 'main0'],
])('L79: the words of the command %s', (text, ...words) => {
  const { command } = mainOf(`command: ${JSON.stringify(text)}`);
  const split = splitCommand(command ?? '');
  expect('words' in split && split.words.map((word) => substitute(word, known))).toEqual(words);
});
test('L79: a value that seems to name a service as a host is listed, and a command too', () => {
  const hosts = ['sql', 'sql:5432', 'postgres://a:b@sql/x', 'http://sql', 'x,sql:1', 'a=sql'];
  const others = ['sqlx', 'a-sql', 'web', '{dns_name#sql0}', 'my.sql', ''];
  const listed = [...hosts, ...others].filter((value) => {
    const text = file({ sql: '', web: `depends_on: [sql], environment: {A: "${value}"}` });
    return remarksOf(text).notes.includes('3:52 services.web.environment.A');
  });
  expect(listed).toEqual(hosts);
  const text = file({ sql: '', web: 'depends_on: [sql], command: [ping, sql]' });
  expect(remarksOf(text).notes).toContain('3:38 services.web.command');
});
