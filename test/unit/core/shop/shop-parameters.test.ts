/**
 * Tests of the shop's parameters: what they change in a description, and which values they take
 * (control-plane/core/shop/shop-parameters.ts).
 */

import { describe, expect, test } from 'vitest';
import type { Role } from '../../../../control-plane/core/accounts/account.ts';
import { readValue } from '../../../../control-plane/core/shop/parameter-values.ts';
import { fillIn, isShownTo, readEntryId, type ShopEntry } from '../../../../control-plane/core/shop/shop.ts';
import { type DeclaredParameter, fitParameter } from '../../../../control-plane/core/shop/shop-parameters.ts';
import { validateApplication } from '../../../../shared/application.ts';
import type { Application } from '../../../../shared/application-schema.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const role = (flags: Partial<Role> = {}): Role => ({
  id: 1,
  name: 'user',
  canChangeConfig: false,
  canDeleteExecutions: false,
  canSeeStatus: false,
  canAccessFullAppShop: false,
  canOperateOthers: false,
  canCustomizeResources: false,
  canAccessApi: true,
  ...flags,
});
const customizer = role({ name: 'customizer', canCustomizeResources: true });

const declared = (
  kind: DeclaredParameter['kind'],
  name: string,
  changes: Partial<DeclaredParameter> = {},
): DeclaredParameter => ({
  kind,
  name,
  readableName: name,
  description: '',
  type: 'string',
  default: null,
  min: null,
  max: null,
  step: null,
  ...changes,
});

function entry(made: Application, ...parameters: DeclaredParameter[]): ShopEntry {
  const fits = parameters.map((one) => fitParameter(one, made));
  return {
    id: 'app-0',
    folder: 'app',
    category: 'Tests',
    name: 'App',
    application: made,
    readme: '',
    logo: null,
    disabledFor: ['student'],
    parameters: fits.map((fit) => {
      if ('problem' in fit) throw new Error(fit.problem);
      return fit.parameter;
    }),
  };
}

function filled(one: ShopEntry, values: Record<string, string>, by = role()): Application {
  const result = fillIn(one, by, values);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.application;
}

function problemsOf(one: ShopEntry, values: Record<string, string>, by = role()) {
  const result = fillIn(one, by, values);
  return 'problems' in result ? result.problems : [];
}

const web = (changes = {}) => service({ name: 'web', ...changes });
const worker = (changes = {}) => service({ name: 'worker', monitor: false, ...changes });

describe('the effect of a value', () => {
  test('W64: a variable is set in every service that has it, and nowhere else', () => {
    const has = { environment: [['SIZE', '1'] as [string, string], ['LIKE_SIZE', '2'] as [string, string]] };
    const shop = entry(
      application(web(has), worker(has), service({ name: 'other' })),
      declared('environment', 'SIZE'),
    );
    const made = filled(shop, { 'environment:SIZE': 'large' });
    const expected = [
      ['SIZE', 'large'],
      ['LIKE_SIZE', '2'],
    ];
    expect(made.services.map(({ environment }) => environment)).toEqual([expected, expected, []]);
    expect(shop.application.services[0]?.environment[0]).toEqual(['SIZE', '1']);
  });
  test("W64: a command is set in its service only, and an empty one is the image's own", () => {
    const shop = entry(application(web(), worker()), declared('command', 'worker'));
    const commandWith = (text: string) =>
      filled(shop, { 'command:worker': text }).services.map(({ command }) => command);
    expect(commandWith('sleep 5')).toEqual(['sleep 1000', 'sleep 5']);
    expect(commandWith(' ')).toEqual(['sleep 1000', null]);
  });
  test.each([
    { total: 2, essential: 1, count: 4, becomes: [4, 1] },
    { total: 4, essential: 3, count: 2, becomes: [2, 2] },
    { total: 2, essential: 2, count: 5, becomes: [5, 5] },
    { total: 4, essential: 0, count: 1, becomes: [1, 0] },
  ])(
    'W65: $total instances, $essential of them essential, become $becomes with a count of $count',
    ({ total, essential, count, becomes }) => {
      const group = worker({ total_count: total, essential_count: essential });
      const made = filled(entry(application(web(), group), declared('service_count', 'worker')), {
        'service_count:worker': String(count),
      });
      const { total_count, essential_count } = made.services[1] ?? service();
      expect([total_count, essential_count]).toEqual(becomes);
    },
  );
  test.each([
    { min: 4, max: 4, value: 8, becomes: { min: 8, max: 8 } },
    { min: 4, max: 4, value: 2, becomes: { min: 2, max: 2 } },
    { min: 4, max: 8, value: 6, becomes: { min: 6, max: 8 } },
    { min: 4, max: 8, value: 9, becomes: { min: 9, max: 9 } },
    { min: 4, max: null, value: 9, becomes: { min: 9, max: null } },
  ])(
    'W66: a reservation of $value turns min $min and max $max into $becomes',
    ({ min, max, value, becomes }) => {
      const resources = { memory: { min, max }, cores: { min, max } };
      const shop = entry(
        application(web({ resources })),
        declared('resources', 'web.memory'),
        declared('resources', 'web.cores'),
      );
      const values = { 'resources:web.memory': String(value), 'resources:web.cores': String(value) };
      expect(filled(shop, values, customizer).services[0]?.resources).toEqual({
        memory: becomes,
        cores: becomes,
      });
    },
  );
  test('W63: a parameter without a value takes the default of the manifest, else the value in the description', () => {
    const environment: [string, string][] = [
      ['A', 'own'],
      ['B', 'own'],
    ];
    const shop = entry(
      application(web({ environment })),
      declared('environment', 'A', { default: 'given' }),
      declared('environment', 'B'),
    );
    expect(filled(shop, {}).services[0]?.environment).toEqual([
      ['A', 'given'],
      ['B', 'own'],
    ]);
  });
});

describe('accepted values', () => {
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
    expect(readings({ ...number, min: null, default: '5' }, ['4'])).toEqual([
      'must be 5 plus a multiple of 2',
    ]);
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
    const shop = entry(
      application(
        web({
          environment: [
            ['N', '1'],
            ['M', '1'],
          ],
        }),
      ),
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
    expect(
      problemsOf(shop, values).map(({ parameter, message }) => [parameter, message.slice(0, 32)]),
    ).toEqual([
      ['service_count:worker', 'must be at least 1'],
      ['environment:GREETING', 'uses the unknown variable {nobod'],
      ['command:worker', 'has no closing "'],
    ]);
    expect(problemsOf(shop, { 'service_count:worker': '1000' })).toEqual([
      { parameter: null, message: '/services has 1001 instances in all; the limit is 1000' },
    ]);
  });
});

test('W67: any submitted values give a valid description or problems', () => {
  const shop = entry(
    application(
      web({
        environment: [
          ['TEXT', 'a'],
          ['COUNT', '1'],
        ],
      }),
      worker({ total_count: 3 }),
    ),
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

describe('the permissions of a role', () => {
  test('W68: a role that disabled_for names sees the application only if it may see the full shop', () => {
    const { disabledFor } = entry(application());
    const student = role({ name: 'student' });
    expect(isShownTo({ disabledFor }, role())).toBe(true);
    expect(isShownTo({ disabledFor }, student)).toBe(false);
    expect(isShownTo({ disabledFor }, { ...student, canAccessFullAppShop: true })).toBe(true);
  });

  const resources = () => ({ memory: { min: 8, max: 16 }, cores: { min: null, max: null } });
  const shop = entry(
    application(web({ resources: resources() }), worker({ resources: resources() })),
    declared('resources', 'web.memory', { default: '9' }),
  );
  const reserved = (made: Application) => made.services.map((one) => one.resources.memory.min);

  test('W69: a role that must not customise resources gets the defaults, and other values are refused', () => {
    expect(reserved(filled(shop, {}))).toEqual([9, 8]);
    expect(reserved(filled(shop, { 'resources:web.memory': '9' }))).toEqual([9, 8]);
    expect(problemsOf(shop, { 'resources:web.memory': '10', 'resources:worker.memory': '10' })).toEqual([
      {
        parameter: 'resources:web.memory',
        message: 'must stay 9: the role user lacks "Choose resources" (can_customize_resources)',
      },
      { parameter: 'resources:worker.memory', message: 'is not a parameter of this application' },
    ]);
  });
  test('W69: a role that may customise resources may set all reserved ones, even if the manifest does not name them', () => {
    const values = { 'resources:web.memory': '10', 'resources:worker.memory': '11' };
    expect(reserved(filled(shop, values, customizer))).toEqual([10, 11]);
    expect(reserved(filled(shop, {}, customizer))).toEqual([9, 8]);
    expect(problemsOf(shop, { 'resources:worker.cores': '1' }, customizer)).toHaveLength(1);
    expect(problemsOf(shop, { 'resources:worker.memory': '-1' }, customizer)).toEqual([
      { parameter: 'resources:worker.memory', message: 'must be at least 0' },
    ]);
  });
});

test('W60: an id is a folder and a position', () => {
  expect(readEntryId('my-app-12')).toEqual({ folder: 'my-app', place: 12 });
  expect(['app', 'app-', '-1', 'app--1', 'app-01', 'app-1x'].map(readEntryId)).toEqual([
    undefined,
    undefined,
    undefined,
    { folder: 'app-', place: 1 },
    undefined,
    undefined,
  ]);
});
