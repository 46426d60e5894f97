import { expect, test } from 'vitest';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts, named, running } from '../../../support/rigs/core-rig.ts';

const requiring = (label: string) => application(service({ labels: [label] }));

test("C95: an administrator's labels count beside the agent's, at once for waiting executions, neither removes the other's, and their removal stops nothing", () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one', { labels: ['ssd'] }));
  const execution = rig.submit(requiring('gpu'));
  expect(rig.turn()).toEqual([]);
  expect(rig.change(host, { labels: ['gpu', 'ssd'] })).toEqual(['place web0@one', 'start web0.1']);
  expect(host.labels).toEqual(['ssd', 'gpu']);
  expect(execution.status).toBe('starting');
  rig.hello(hostFacts('one', { labels: ['ssd', 'new'] }));
  rig.change(host, { accept: host.pending ?? undefined });
  expect(host.labels).toEqual(['ssd', 'new', 'gpu']);
  rig.see(named(execution, 'web0'), running);
  expect(rig.change(host, { labels: [] })).toEqual([]);
  expect(host.labels).toEqual(['ssd', 'new']);
  expect(execution.status).toBe('running');
  expect(rig.submit(requiring('gpu')).status).toBe('queued');
  expect(rig.turn()).toEqual([]);
});
