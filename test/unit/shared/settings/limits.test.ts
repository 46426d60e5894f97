import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig, readNodeConfig } from '../../../../control-plane/config.ts';
import { environment } from '../../../../control-plane/local/environment.ts';
import { defaultLimits, limitNames, workerLimits } from '../../../../shared/settings/limits.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const limitsOf = (BERTH_LIMITS: string) => readNodeConfig({ BERTH_LIMITS }).BERTH_LIMITS;

test('H828: without BERTH_LIMITS each limit has its default, and on Cloudflare some have smaller ones', () => {
  expect(readNodeConfig({}).BERTH_LIMITS).toEqual(defaultLimits);
  expect(readConfig({}).BERTH_LIMITS).toEqual(workerLimits);
  expect(limitNames.filter((name) => (workerLimits[name] ?? 0) > (defaultLimits[name] ?? 0))).toEqual([]);
});
test('H828: BERTH_LIMITS overrides some limits and leaves the others, with sizes as text or as a number of bytes', () => {
  expect(limitsOf('{"streams": 5, "bodyMemoryBytes": "1.5GiB", "unreadBytes": 2097152}')).toEqual({
    ...defaultLimits,
    streams: 5,
    bodyMemoryBytes: 1.5 * 2 ** 30,
    unreadBytes: 2 ** 21,
  });
});
test('H828: in BERTH_LIMITS a name that is not a limit is refused, with the one that was probably meant', () => {
  expect(() => limitsOf('{"strems": 5}')).toThrow(
    'BERTH_LIMITS: "strems" is not a limit; did you mean "streams"?',
  );
  expect(() => limitsOf('{"colour": 5}')).toThrow(/"colour" is not a limit$/);
});
test('H828: each wrong value in BERTH_LIMITS is refused by its name, beside every other problem', () => {
  const read = () =>
    readNodeConfig({
      BERTH_LIMITS: '{"streams": "5", "waiting": 0, "copyBytes": "much"}',
      BERTH_PORT: 'x',
    });
  for (const problem of [
    'BERTH_LIMITS.streams: must be a number of streams',
    'BERTH_LIMITS.waiting: must be at least 1 executions',
    'BERTH_LIMITS.copyBytes: must be a size from 1.0 MiB to',
    'BERTH_PORT: must be a number',
  ])
    expect(read).toThrow(problem);
});
test.each(['5', '[]', '{"streams": 5', 'null'])(
  'H828: the BERTH_LIMITS %s are refused, which are not a JSON object',
  (text) => {
    expect(() => limitsOf(text)).toThrow('BERTH_LIMITS: must be a JSON object, or the path of a file');
  },
);
test('H828: on Node BERTH_LIMITS may be the path of a file, and the message says so if the file cannot be read', async () => {
  const BERTH_LIMITS = join(await testFolder(), 'limits.json');
  const read = () => readNodeConfig(environment({ BERTH_LIMITS })).BERTH_LIMITS;
  expect(read).toThrow('BERTH_LIMITS: must be a JSON object, or the path of a file that can be read');
  writeFileSync(BERTH_LIMITS, '{\n  "streams": 7\n}\n');
  expect(read().streams).toBe(7);
});
test('H828: on a Worker BERTH_LIMITS is an object, as text or as wrangler makes it of a table, since a Worker cannot read a file', () => {
  expect(() => readConfig({ BERTH_LIMITS: '/etc/berth/limits.json' })).toThrow(
    'BERTH_LIMITS: must be a JSON object, since a Worker cannot read a file',
  );
  expect(readConfig({ BERTH_LIMITS: { streams: 7 } }).BERTH_LIMITS.streams).toBe(7);
  expect(() => readConfig({ BERTH_LIMITS: 7 })).toThrow('BERTH_LIMITS: must be a JSON object, since');
});
