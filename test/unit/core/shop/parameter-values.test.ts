import { expect, test } from 'vitest';
import { readValue } from '../../../../control-plane/core/shop/parameter-values.ts';
import { fillIn } from '../../../../control-plane/core/shop/shop.ts';
import { validateApplication } from '../../../../shared/application.ts';
import { application } from '../../../support/fixtures/applications.ts';
import {
  customizer,
  declared,
  entry,
  problemsOf,
  web,
  worker,
} from '../../../support/fixtures/shop-entries.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const number = { type: 'int', default: '4', min: 2, max: 10, step: 2 } as const;
const readings = (parameter: Parameters<typeof readValue>[0], texts: string[]) =>
  texts.map((text) => Object.values(readValue(parameter, text))[0]);

test('W67: a whole number must be within min and max, and min plus a multiple of the step', () => {
  expect(readings(number, ['2', ' 10 '])).toEqual(['2', '10']);
  expect(readings(number, ['', '4.0', '4x', '0x4', '1e1', '99999999999999999999'])).toEqual(
    Array(6).fill('must be a whole number'),
  );
  expect(readings(number, ['0', '12', '5'])).toEqual([
    'must be at least 2',
    'must be at most 10',
    'must be 2 plus a multiple of 2',
  ]);
});
test('W67: without a min, steps count from the default', () => {
  expect(readings({ ...number, min: null, default: '5' }, ['1', '7'])).toEqual(['1', '7']);
  expect(readings({ ...number, min: null, default: '5' }, ['4'])).toEqual(['must be 5 plus a multiple of 2']);
});
test('W67: steps of fractions are exact despite binary rounding', () => {
  const share = { ...number, type: 'float', default: '0.1', min: 0.1, max: 2, step: 0.1 } as const;
  expect(readings(share, ['0.3', '.7', '1', '1e0'])).toEqual(['0.3', '.7', '1', '1e0']);
  expect(readings(share, ['0.15', 'NaN', 'Infinity', '1e999', ''])).toEqual([
    'must be 0.1 plus a multiple of 0.1',
    ...Array(4).fill('must be a number'),
  ]);
});
test('W67: counts and memory must be whole numbers, and cores may have fractions', () => {
  const resources = { memory: { min: 1, max: null }, cores: { min: 1, max: null } };
  const shop = entry(
    application(web({ resources })),
    declared('service_count', 'web', { type: 'float' }),
    declared('resources', 'web.memory', { type: 'float' }),
    declared('resources', 'web.cores', { type: 'int' }),
  );
  const values = {
    'service_count:web': '1.5',
    'resources:web.memory': '1.5',
    'resources:web.cores': '1.5',
  };
  expect(problemsOf(shop, values, customizer)).toEqual([
    { parameter: 'service_count:web', message: 'must be a whole number' },
    { parameter: 'resources:web.memory', message: 'must be a whole number' },
  ]);
});
test('W67: all problems are reported at once, each with its parameter', () => {
  const environment: [string, string][] = ['N', 'M'].map((name) => [name, '1']);
  const shop = entry(
    application(web({ environment })),
    declared('environment', 'N', { type: 'int', min: 1 }),
    declared('environment', 'M', { type: 'int', max: 1 }),
  );
  expect(problemsOf(shop, { 'environment:N': '0', 'environment:M': '2', 'environment:X': '' })).toEqual([
    { parameter: 'environment:N', message: 'must be at least 1' },
    { parameter: 'environment:M', message: 'must be at most 1' },
    { parameter: 'environment:X', message: 'is not a parameter of this application' },
  ]);
});
test('W67: the resulting description is checked, and each problem is reported at the parameter that caused it', () => {
  const shop = entry(
    application(web({ environment: [['GREETING', 'hi']] }), worker({ total_count: 2 })),
    declared('environment', 'GREETING'),
    declared('command', 'worker'),
    declared('service_count', 'worker'),
  );
  const values = {
    'environment:GREETING': '{nobody}',
    'command:worker': 'sh -c "',
    'service_count:worker': '0',
  };
  expect(problemsOf(shop, values).map(({ parameter, message }) => [parameter, message.slice(0, 32)])).toEqual(
    [
      ['service_count:worker', 'must be at least 1'],
      ['environment:GREETING', 'uses the unknown variable {nobod'],
      ['command:worker', 'has no closing "'],
    ],
  );
  expect(problemsOf(shop, { 'service_count:worker': '1000' })).toEqual([
    { parameter: null, message: '/services has 1001 instances in all; the limit is 1000' },
  ]);
});

test('W67: any submitted values give a valid description or problems', () => {
  const environment: [string, string][] = ['TEXT', 'COUNT'].map((name) => [name, '1']);
  const shop = entry(
    application(web({ environment }), worker({ total_count: 3 })),
    declared('environment', 'TEXT'),
    declared('environment', 'COUNT', { type: 'float', step: 0.1 }),
    declared('command', 'web'),
    declared('service_count', 'worker'),
  );
  const value = fc.oneof(fc.string({ unit: 'binary' }), fc.double().map(String), fc.integer().map(String));
  const key = fc.constantFrom('nonsense', '__proto__', ...shop.parameters.map((one) => one.key));
  const values = fc.dictionary(key, value);
  fc.assert(
    fc.property(values, (sent) => {
      const result = fillIn(shop, customizer, sent);
      if ('problems' in result) return result.problems.length > 0;
      return validateApplication(JSON.parse(JSON.stringify(result.application))).valid;
    }),
  );
});
