/** How services of a Compose file are checked and start again. */
import { expect, test } from 'vitest';
import { joinCommand } from '../../../../shared/command.ts';
import { mainFile, mainOf, problemsOf, remarksOf, translated } from './translated.ts';

const healthOf = (fields: string) => mainOf(`healthcheck: ${fields}`).health;
const TIMES = { interval: 30, timeout: 30, retries: 3, start_period: 30 };
const shell = (script: string) => joinCommand(['/bin/sh', '-c', script]);

test.each([
  ['{test: curl -f http://localhost/}', shell('curl -f http://localhost/')],
  ['{test: [CMD-SHELL, "pg_isready -U $$U || exit 1"]}', shell('pg_isready -U $U || exit 1')],
  [`{test: [CMD, curl, -f, "it's {foo}"]}`, `curl -f '${"it'\\''s {{foo}}"}'`],
  ['{test: [CMD, ping, "{dns_name#main0}"]}', "ping '{dns_name#main0}'"],
])('L139: %s becomes a command, with the times that Compose has by default', (fields, command) => {
  expect(healthOf(fields)).toEqual({ command, ...TIMES });
});
test('L139: without a test the check of the image counts, and none with NONE or disable', () => {
  expect(healthOf('{interval: 1m30s}')).toEqual({ image: true, ...TIMES, interval: 90, start_period: 90 });
  expect(healthOf('{test: [], retries: 5}')).toEqual({ image: true, ...TIMES, retries: 5 });
  for (const fields of ['{test: [NONE]}', '{disable: true}', '{disable: "true", test: x}']) {
    expect(healthOf(fields)).toBeUndefined();
    expect(remarksOf(mainFile(`healthcheck: ${fields}`))).toEqual({ leftOut: [], notes: [] });
  }
});
test('L139, L142: periods are whole seconds within the bounds of a description, and what is changed is listed', () => {
  const fields = '{test: x, interval: 1500ms, timeout: 1h0m0.5s, start_period: 2h, retries: 0}';
  expect(healthOf(fields)).toMatchObject({ interval: 5, timeout: 60, retries: 3, start_period: 3_600 });
  expect(remarksOf(mainFile(`healthcheck: ${fields}`)).notes).toEqual([
    ...['4:5 services.main.healthcheck', '4:28 services.main.healthcheck.interval'],
    ...['4:46 services.main.healthcheck.timeout', '4:65 services.main.healthcheck.start_period'],
  ]);
  expect(healthOf('{test: x, interval: 10s, start_period: 40s}')).toMatchObject({ start_period: 40 });
  // Compose checks for the first time after the first interval.
  expect(healthOf('{test: x, interval: 10s, start_period: 1s}')).toMatchObject({ start_period: 10 });
});
test('L139: that health has consequences here is listed, and x-berth wins', () => {
  const [note] = translated(mainFile('healthcheck: {test: x}')).notes;
  expect(note).toMatchObject({ path: 'services.main.healthcheck', message: /decides when/ });
  const own = 'healthcheck: {test: x}\nx-berth: {health: {tcp: {port: 80}}}';
  expect(mainOf(own).health).toEqual({ tcp: { port: 80 } });
  expect(remarksOf(mainFile(own))).toEqual({ leftOut: [], notes: [] });
});
test.each([
  ['{test: [CMD]}', 'test must be a command line, or a list that begins with CMD, CMD-SHELL or NONE'],
  ['{test: [curl, x]}', 'test must be a command line, or a list'],
  ['{test: x, interval: 90}', 'interval must be a period such as 30s or 1m30s'],
  ['{test: x, timeout: -1s}', 'timeout must be a period'],
  [`{test: x, timeout: ${'9h'.repeat(60)}}`, 'timeout must be a period'],
  ['{test: x, retries: 101}', 'retries is /services/0/health/retries of the description, which must be at'],
  [`{test: ${'x'.repeat(5_000)}}`, 'test is /services/0/health/command of the description'],
  ['{test: x, port: 80}', 'port is not a field of Compose'],
])('L139, L142: %.40s is a problem at its place', (fields, problem) => {
  expect(problemsOf(mainFile(`healthcheck: ${fields}`))).toEqual([
    expect.stringContaining(`services.main.healthcheck.${problem}`),
  ]);
});

/** A service that waits until `sql` is healthy. */
const file = (sql: string) => `services:
  sql: {image: i, ${sql}}
  web: {image: i, depends_on: {sql: {condition: service_healthy}}, x-berth: {monitor: true}}
`;
const sqlOf = (fields: string) => translated(file(fields)).description.services[0];
test('L140: the service is checked as the file says, or else by its image, and later ones start once it is healthy', () => {
  const checked = { startup_order: 0, health: { command: shell('x') } };
  expect(sqlOf('healthcheck: {test: x}')).toMatchObject(checked);
  expect(translated(file('healthcheck: {test: x}')).leftOut).toEqual([]);
  expect(sqlOf('user: "1"')?.health).toEqual({ image: true });
  expect(remarksOf(file('user: "1"')).notes).toEqual(['3:38 services.web.depends_on.sql.condition']);
  expect(remarksOf(file('x-berth: {health: {tcp: {port: 1}}}'))).toEqual({ leftOut: [], notes: [] });
  // Without a check, the condition is left out.
  const text = file('healthcheck: {disable: true}');
  expect(sqlOf('healthcheck: {disable: true}')).not.toHaveProperty('health');
  expect(remarksOf(text).leftOut).toEqual(['3:38 services.web.depends_on.sql.condition']);
});

/** A file with a monitor, and a service that is none. */
const side = (fields: string) => `services:\n  job: {image: i}\n  sql: {image: i, ports: [1], ${fields}}\n`;
const sideOf = (fields: string) => translated(side(fields)).description.services[1]?.restart;
test.each([
  ['restart: "no"', undefined],
  ['restart: always', { attempts: 100 }],
  ['restart: unless-stopped', { attempts: 100 }],
  ['restart: on-failure', { attempts: 100 }],
  ['restart: on-failure:7', { attempts: 7 }],
  ['restart: on-failure:500', { attempts: 100 }],
  ['deploy: {restart_policy: {condition: none}}', undefined],
  ['deploy: {restart_policy: {}}', { attempts: 100 }],
  [
    'deploy: {restart_policy: {delay: 5s, max_attempts: 3, window: 2m}}',
    { attempts: 3, delay: 5, window: 120 },
  ],
  ['deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}', { attempts: 3, window: 86_400 }],
  ['deploy: {restart_policy: {window: 1s, delay: 2h}}', { attempts: 100, delay: 3_600, window: 10 }],
  ['deploy: {restart_policy: {delay: 0s, window: 0s, max_attempts: 0}}', { attempts: 100 }],
])('L141: what becomes of %s', (fields, restart) => {
  expect(mainOf(fields).restart).toEqual(restart);
  expect(sideOf(fields)).toEqual(restart);
});
test('L141: what restart cannot mean here is listed, for monitors and for others', () => {
  const ofMonitor = (fields: string) => remarksOf(mainFile(fields));
  for (const meant of ['on-failure', '"no"'])
    expect(ofMonitor(`restart: ${meant}`)).toEqual({ leftOut: [], notes: [] });
  for (const changed of ['always', 'on-failure:101'])
    expect(ofMonitor(`restart: ${changed}`).notes).toEqual(['4:5 services.main.restart']);
  const ofSide = (fields: string) => remarksOf(side(fields));
  const guess = '2:3 services.job';
  expect(ofSide('restart: always').notes).toEqual([guess]);
  expect(ofSide('restart: on-failure').notes).toEqual([guess, '3:31 services.sql.restart']);
  expect(ofSide('restart: "no"').leftOut).toEqual(['3:31 services.sql.restart']);
});
test('L141: the restart of x-berth wins, and deploy.restart_policy over restart', () => {
  const own = 'restart: always\nx-berth: {restart: {attempts: 2}}';
  expect(mainOf(own).restart).toEqual({ attempts: 2 });
  expect(remarksOf(mainFile(own))).toEqual({ leftOut: [], notes: [] });
  const both =
    'restart: "no"\ndeploy: {restart_policy: {condition: on-failure, max_attempts: 4, window: 1m}}';
  expect(mainOf(both).restart).toEqual({ attempts: 4, window: 60 });
});
test.each([
  ['restart: sometimes', 'restart must be no, always, unless-stopped, on-failure or on-failure:N'],
  ['restart: on-failure:x', 'restart must be no'],
  ['deploy: {restart_policy: {condition: always}}', 'condition must be none, on-failure or any'],
  ['deploy: {restart_policy: {delay: soon}}', 'delay must be a period such as 30s or 1m30s'],
  ['deploy: {restart_policy: {max_attempts: -1}}', 'max_attempts must be a whole number'],
])('L141: %s is a problem at its place', (fields, problem) => {
  expect(problemsOf(mainFile(fields))).toEqual([expect.stringContaining(problem)]);
});
