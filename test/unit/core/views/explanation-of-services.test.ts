import { expect, test } from 'vitest';
import { explainEnd } from '../../../../control-plane/core/views/explanation.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { created, exited, failed, gone, named, quota, running } from '../../../support/rigs/core-rig.ts';
import { draft, explained, GIB, of, rigOf } from '../../../support/rigs/explanations.ts';

const pair = application(
  service({ startup_order: 1 }),
  service({ name: 'base', monitor: false, total_count: 3, essential_count: 3 }),
);

test('H214, H216: each service of a start has its next step, and the summary of a single one is a correct sentence', () => {
  const rig = rigOf('one');
  const execution = rig.submitInTurn(pair);
  rig.see(named(execution, 'base0'), { state: 'preparing', detail: 'pulling nginx:1, 42 %' });
  rig.see(named(execution, 'base1'), created);
  expect(explained(rig, execution)).toMatchObject({
    status: 'starting',
    summary: '0 of 4 essential services are active.',
    waitingFor: [
      'web0: waiting for essential services that start earlier (lower startup_order).',
      'base0: being prepared on host one (pulling nginx:1, 42 %).',
      'base1: being started on host one.',
      'base2: being prepared on host one.',
    ],
  });
  for (const name of ['base0', 'base1', 'base2']) rig.see(named(execution, name), running);
  expect(explained(rig, execution)).toMatchObject({
    summary: '3 of 4 essential services are active.',
    waitingFor: ['web0: being prepared on host one.'],
  });
  rig.see(named(execution, 'web0'), running);
  expect(explained(rig, execution)).toMatchObject({
    summary: 'All its essential services have started.',
    waitingFor: [],
    position: null,
  });
  const single = rig.submitInTurn(application(service()));
  expect(explained(rig, single).summary).toBe('0 of 1 essential service is active.');
});

test('H216: the progress of an earlier start is dropped', () => {
  const rig = rigOf('one');
  const execution = rig.submitInTurn();
  const web = named(execution, 'web0');
  rig.see(web, { state: 'preparing', detail: 'pulling' }, failed(true), gone);
  rig.advance(1_000);
  expect(explained(rig, execution).waitingFor).toEqual(['web0: being prepared on host one.']);
});

test('H216: a disconnected host, a restart, also of an elastic service, and waiting services are explained', () => {
  const rig = rigOf('one');
  const execution = rig.submitInTurn(pair);
  const base = ['base0', 'base1', 'base2'].map((name) => named(execution, name));
  for (const one of base) rig.see(one, running);
  rig.see(named(execution, 'web0'), running);
  rig.see(named(execution, 'base1'), exited(1), gone);
  expect(explained(rig, execution).waitingFor).toEqual(['base1: restarting in 1 s.']);
  const [one] = rig.cluster.hosts.values();
  if (one) rig.disconnect(one);
  expect(explained(rig, execution).waitingFor).toEqual([
    'web0, base0 and base2: on host one, which is not connected; waiting for its agent to reconnect.',
    'base1: restarting in 1 s.',
  ]);
  const other = rigOf('one');
  const dying = other.submitInTurn(
    application(service(), service({ name: 'side', monitor: false, essential_count: 0 })),
  );
  for (const name of ['web0', 'side0']) other.see(named(dying, name), running);
  other.see(named(dying, 'side0'), exited(1), gone);
  expect(explained(other, dying)).toMatchObject({
    waitingFor: ['side0: restarting in 1 s.'],
    reasons: [],
  });
});

test('H216: waiting elastic services are explained', () => {
  const rig = rigOf('one');
  const execution = rig.submitInTurn(
    of({ total_count: 4, essential_count: 1, resources: needs(5 * GIB, 1), labels: [] }),
  );
  rig.see(named(execution, 'web0'), running);
  expect(explained(rig, execution)).toMatchObject({
    reasons: [{ instance: 'web1', instances: 3, filter: 'memory', missing: 2 * GIB }],
    waitingFor: [
      'web1 and 2 more like it need 5.0 GiB of memory each, but one, the best fit, has 3.0 GiB free: 2.0 GiB short.',
    ],
  });
  rig.cluster.setQuota(quota(1, { memoryBytes: 9 * GIB }));
  expect(explained(rig, execution).quota).toMatchObject([{ dimension: 'memory', over: GIB }]);
});

test('H216: preempted elastic services, and the execution that waits for them, are explained', () => {
  const rig = rigOf('one');
  const elastic = rig.submitInTurn(of({ total_count: 2, essential_count: 1, resources: needs(4 * GIB, 1) }));
  rig.see(named(elastic, 'web0'), running);
  rig.see(named(elastic, 'web1'), running);
  expect(draft(rig, of({ resources: needs(3 * GIB, 1) })).placement).toEqual([
    { host: 'one', instances: ['web0'] },
  ]);
  expect(draft(rig, of({ resources: needs(5 * GIB, 1) })).reasons).toMatchObject([{ missing: GIB }]);
  const essential = rig.submitInTurn(of({ resources: needs(3 * GIB, 1) }));
  expect(explained(rig, elastic).waitingFor).toEqual(['web1: giving its capacity on host one to others.']);
  expect(explained(rig, essential)).toMatchObject({
    status: 'starting',
    waitingFor: ['web0: waiting until preempted services have left host one.'],
  });
  rig.see(named(elastic, 'web1'), gone);
  expect(explained(rig, essential).waitingFor).toEqual(['web0: being prepared on host one.']);
  expect(explained(rig, elastic)).toMatchObject({
    reasons: [{ instance: 'web1', instances: 1, filter: 'memory', missing: 3 * GIB }],
  });
});

test('H216, C320: an execution that ends is explained with its end and what is left to stop', () => {
  const rig = rigOf('one');
  const execution = rig.submitInTurn(pair);
  rig.terminate(execution);
  expect(explained(rig, execution)).toMatchObject({
    status: 'cleaning up',
    summary: 'It ends as terminated when its containers are gone.',
    waitingFor: ['base0, base1 and base2: being stopped on host one.'],
  });
  rig.see(named(execution, 'base1'), { state: 'preparing', detail: 'its volume is busy' });
  expect(explained(rig, execution).waitingFor.join()).toContain(
    'base1: being stopped on host one (its volume is busy).',
  );
  const failing = rig.submitInTurn();
  rig.see(named(failing, 'web0'), failed(false, 'no such image'));
  expect(explained(rig, failing).summary).toBe(
    'It ends with an error when its containers are gone: service web0: no such image',
  );
});

test('H216: an execution that has ended is explained with the reason', () => {
  expect(explainEnd({ status: 'terminated', errorMessage: null })).toMatchObject({
    summary: 'It has ended: terminated.',
    waitingFor: [],
  });
  expect(explainEnd({ status: 'error', errorMessage: 'service web0 ended with exit code 3' }).summary).toBe(
    'It ended with an error: service web0 ended with exit code 3',
  );
});

test('H219: many services in many states give few sentences', () => {
  const rig = rigOf(...Array.from({ length: 60 }, (_, nth) => `host${nth}`));
  const execution = rig.submitInTurn(
    of({ total_count: 600, essential_count: 600, resources: needs(1, 0.1) }),
  );
  const { waitingFor } = explained(rig, execution);
  expect(waitingFor).toHaveLength(21);
  expect(waitingFor[0]).toMatch(/^web\d+, web\d+, web\d+ and 7 more: being prepared on host host\d+\.$/);
  expect(waitingFor.at(-1)).toBe('And 40 more like these.');
});
