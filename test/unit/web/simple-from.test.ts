import { expect, test } from 'vitest';
import {
  checkSimple,
  FRESH,
  type SimpleApplication,
} from '../../../control-plane/web/description/simple-application.ts';
import { simpleFrom } from '../../../control-plane/web/description/simple-from.ts';
import { templates } from '../../../control-plane/web/description/templates.ts';
import { validateApplication } from '../../../shared/application.ts';

const filled: SimpleApplication = {
  ...FRESH,
  ...{ name: 'My web page', image: 'nginx:alpine', command: `sh -c 'a "b"'`, life: 'stays' },
  ...{ memory: '1.5', memory_unit: 'GiB', cores: '0.25', environment: 'A=b=c\nURL=http://{dns_name#self}/' },
  ports: [
    { name: '', number: '8080', kind: 'http' },
    { name: 'Names', number: '53', kind: 'udp' },
    { name: 'Shell', number: '22', kind: 'tcp' },
  ],
};
const described = (simple: SimpleApplication) => checkSimple(simple).body?.application;

test('W170: the description of a form becomes the same form again, whatever its fields and the order of its keys', () => {
  const empty = { ...filled, memory: '', memory_unit: 'MiB', cores: '', environment: '', ports: [] };
  for (const simple of [filled, empty]) {
    const application = described(simple);
    expect(simpleFrom(simple.name, JSON.stringify(application))).toEqual(simple);
    const reversed = Object.fromEntries(Object.entries(application ?? {}).toReversed());
    expect(simpleFrom(simple.name, JSON.stringify(reversed))).toEqual(simple);
  }
});

const service = described(filled)?.services[0];
test.each<[string, object, string?]>([
  ['a second service', { services: [service, { ...service, name: 'second' }] }],
  [
    'a maximum above the reservation',
    { services: [{ ...service, resources: { ...service?.resources, memory: { min: 1, max: 2 } } }] },
  ],
  ['several instances', { services: [{ ...service, total_count: 2 }] }],
  ['a working directory', { services: [{ ...service, work_dir: '/tmp' }] }],
  ['a variable of two lines', { services: [{ ...service, environment: [['A', 'b\nc=d']] }] }],
  ['a command of two lines', { services: [{ ...service, command: 'a\nb' }] }],
  ['an application with a name of its own', { name: 'another' }],
  ['an execution whose name the form refuses', {}, 'x'.repeat(129)],
  ['more than 16 KiB', { services: [{ ...service, command: 'x'.repeat(16 * 1024) }] }],
])('W170: a description with %s is no form', (_, changes, name = filled.name) => {
  expect(simpleFrom(name, JSON.stringify({ ...described(filled), ...changes }))).toBeUndefined();
});

test('W171: the templates are valid, and those of one container open as a form', () => {
  for (const { id, application } of templates)
    expect(validateApplication(application), id).toMatchObject({ valid: true });
  const forms = templates.filter(({ application }) =>
    simpleFrom(application.name, JSON.stringify(application)),
  );
  expect(forms.map(({ id }) => id)).toEqual(['job', 'web']);
});
