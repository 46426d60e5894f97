import { expect, test } from 'vitest';
import {
  readDescription,
  showDescription,
  showService,
} from '../../../../control-plane/http/variants/zoe-description.ts';
import { validateApplication } from '../../../../shared/application.ts';
import { splitCommand } from '../../../../shared/command.ts';
import { assignmentOf } from '../../../../shared/expand.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const owner = { userName: 'alice', userId: 3, fsUid: 1003 };
const context = { executionId: 7, executionName: 'x', deploymentName: 'test', ...owner };
const wordsOf = (text: string) => {
  const split = splitCommand(text);
  return 'words' in split ? split.words : [];
};
/** The service of a description with these fields, as it is stored. */
const read = (fields: object) => {
  const described = { ...application(), services: [{ ...service(), ...fields }] };
  const checked = validateApplication(readDescription(described));
  if (!checked.valid) throw new Error(checked.problems.map(({ pointer }) => pointer).join());
  return checked.application.services[0] ?? service();
};
const started = (fields: object) =>
  assignmentOf({ service: 1, generation: 1 }, 'web0', read(fields), 1, context);

test.each([
  "awk '{print}' {user_name} {dns_name#web0}",
  'sh -c "echo {unknown} {{x}} {secret#A}"',
  `echo {user_"name"} \\{execution_id} \${A} plain`,
])('H739: the words of the command %s reach the container as they are', (command) => {
  expect(started({ command }).command).toEqual(wordsOf(command));
  expect(wordsOf(showService(read({ command })).command ?? '')).toEqual(wordsOf(command));
});

test('H739: any command has its words, and comes back with them', () => {
  const parts = ['{', '}', '{{', '}}', '$', '"', "'", '\\', 'user_name', '#a', ' ', 'x'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts)), (some) => {
      const command = some.join('');
      const words = wordsOf(command);
      fc.pre(words.length > 0);
      expect(started({ command }).command).toEqual(words);
      const [shown] = JSON.parse(showDescription(JSON.stringify(application(read({ command }))))).services;
      expect(wordsOf(shown.command)).toEqual(words);
    }),
  );
});

test('H739: a maximum below the minimum is the minimum, and other fields of a volume are dropped', () => {
  const resources = { memory: { min: 2 ** 30, max: 1 }, cores: { min: 2, max: 1 }, shm_size: 64e6 };
  const volumes = [{ name: 'data', path: '/data', read_only: true, type: 'host', more: { a: 1 } }];
  expect(read({ resources, volumes })).toMatchObject({
    resources: { memory: { min: 2 ** 30, max: 2 ** 30 }, cores: { min: 2, max: 2 }, shm_size: 64e6 },
    volumes: [{ name: 'data', path: '/data', read_only: true }],
  });
  expect(started({ resources }).shmBytes).toBe(64e6);
  const without = { memory: { min: null, max: -1 }, cores: { min: null, max: -1 } };
  const none = { min: null, max: null };
  expect(read({ resources: without })).toMatchObject({ resources: { memory: none, cores: none } });
});

test('C22: shm_size is the size of /dev/shm unless shm has it, and 0 is none', () => {
  const sizeOf = (sizes: object) => started({ resources: { ...service().resources, ...sizes } }).shmBytes;
  const sizes = [{ shm_size: 5 }, { shm_size: 0 }, { shm: 7, shm_size: 5 }, {}];
  expect(sizes.map(sizeOf)).toEqual([5, null, 7, null]);
});

test('H739: what is no description stays as it is, for the checks of descriptions', () => {
  const services = [1, null, { command: 1, volumes: [3], resources: 4 }];
  for (const value of [null, 7, 'text', [], { services: 1 }, { services }])
    expect(readDescription(value)).toEqual(value);
});
