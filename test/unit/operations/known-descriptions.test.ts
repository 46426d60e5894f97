import { expect, test } from 'vitest';
import {
  KnownDescriptions,
  MAX_KNOWN_LENGTH,
} from '../../../control-plane/operations/executions/known-descriptions.ts';
import { submissionSteps } from '../../../control-plane/operations/executions/submission-input.ts';
import { finish } from '../../../shared/steps.ts';
import { application, service } from '../../support/fixtures/applications.ts';

const submit = (description: unknown, known: KnownDescriptions, name = 'run') =>
  finish(submissionSteps({ name, application: description }, known));

const named = (name: string) => ({ ...application(), name });

test('a description that was submitted before gives the same submission, without another validation', () => {
  const known = new KnownDescriptions();
  const first = submit(application(), known, 'one');
  const second = submit(application(), known, 'two');
  expect(second).toEqual({ ...first, name: 'two' });
  expect(second).toEqual(finish(submissionSteps({ name: 'two', application: application() })));
  expect(second.application).toBe(first.application);
});

test('a description that differs in anything, such as the order of its fields, or is not valid, is validated by itself', () => {
  const known = new KnownDescriptions();
  const invalid = application(service({ total_count: -1 }));
  for (let n = 0; n < 2; n++) expect(() => submit(invalid, known)).toThrow(/services\/0\/total_count/);
  const { name, ...others } = application();
  const first = submit({ name, ...others }, known);
  const second = submit({ ...others, name }, known);
  expect(second.application).not.toBe(first.application);
  expect(second.description).toBe(JSON.stringify({ ...others, name }));
});

test('what is known is bounded: 64 descriptions, those that were used last, none of more than 8 KiB', () => {
  const known = new KnownDescriptions();
  const first = submit(named('app-0'), known);
  const second = submit(named('app-1'), known);
  for (let n = 2; n < 64; n++) submit(named(`app-${n}`), known);
  expect(submit(named('app-0'), known).application).toBe(first.application);
  submit(named('app-64'), known);
  expect(submit(named('app-0'), known).application).toBe(first.application);
  expect(submit(named('app-1'), known).application).not.toBe(second.application);
  const long = { ...application(service({ environment: [['LONG', 'x'.repeat(MAX_KNOWN_LENGTH)]] })) };
  expect(submit(long, known).application).not.toBe(submit(long, known).application);
});
