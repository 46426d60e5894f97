import { expect, test } from 'vitest';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, exited, gone, hostFacts, runningRig } from '../../../support/rigs/core-rig.ts';

test('C15: a deletion purges a queued execution at once, and an ended one when its logs are gone', () => {
  const rig = new CoreRig();
  const execution = rig.submitInTurn();
  expect(rig.remove(execution)).toEqual(['finish 1 terminated', 'purge 1']);
  expect(rig.cluster.executions.size).toBe(0);
  expect(rig.cluster.changes.purged.has(execution)).toBe(true);
  const ended = runningRig(application(service()));
  const web = ended.web;
  ended.rig.see(web, exited(0), gone);
  expect(ended.rig.remove(ended.execution)).toEqual(['forget web0.1']);
  expect(ended.rig.report(ended.rig.hostOf(web), [], [web.id])).toEqual(['purge 1']);
  expect(ended.execution.status).toBe('terminated');
});
test('C15: a deletion hides a running execution at once, and purges it when containers and logs are gone', () => {
  const { rig, execution, web, side } = runningRig();
  const host = rig.hostOf(web);
  rig.remove(execution);
  expect(execution).toMatchObject({ deleted: true, status: 'cleaning up' });
  rig.see(web, gone);
  expect(rig.see(side, gone)).toEqual(['finish 1 terminated', 'forget web0.1', 'forget side0.1']);
  expect(rig.cluster.executions.size).toBe(1);
  expect(rig.report(host, [], [web.id])).toEqual([]);
  expect(rig.report(host, [], [side.id])).toEqual(['purge 1']);
  expect(rig.cluster.executions.size).toBe(0);
  expect([...rig.cluster.servicesAt(host.id)]).toEqual([]);
});
test('C15: a deletion keeps an end that is already decided', () => {
  const { rig, execution, web } = runningRig(application(service()));
  rig.see(web, exited(3));
  rig.remove(execution);
  expect(rig.see(web, gone)).toEqual(['finish 1 error', 'forget web0.1']);
});
test('P14: a host that was away receives the forget command when it reconnects, and once only', () => {
  const { rig, execution, web } = runningRig(application(service()));
  const host = rig.hostOf(web);
  rig.remove(execution);
  rig.see(web, gone);
  rig.disconnect(host);
  expect(rig.turn()).toEqual([]);
  expect(rig.join(hostFacts('one'))).toEqual(['forget web0.1']);
  expect(rig.turn()).toEqual([]);
});
test('P14: only the host of a service can report that its logs are removed, and only after the command', () => {
  const { rig, execution, web } = runningRig(application(service()));
  rig.report(rig.hostOf(web), [], [web.id]);
  expect(web.logs).toBe('kept');
  rig.remove(execution);
  rig.see(web, gone);
  rig.report(rig.hello(hostFacts('two')), [], [web.id]);
  expect(web.logs).toBe('forgetting');
});
