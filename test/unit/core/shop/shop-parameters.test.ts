import { expect, test } from 'vitest';
import { isShownTo, readEntryId } from '../../../../control-plane/core/shop/shop.ts';
import type { Application } from '../../../../shared/application-schema.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import {
  customizer,
  declared,
  entry,
  filled,
  problemsOf,
  role,
  web,
  worker,
} from '../../../support/fixtures/shop-entries.ts';

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
