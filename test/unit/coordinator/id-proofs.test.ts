import { expect, test } from 'vitest';
import { idCode } from '../../../control-plane/coordinator/runtime/id-code.ts';
import { defaultBounds } from '../../../control-plane/core/model/bounds.ts';
import type { ProvenIds } from '../../../shared/protocol/assignment.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { CoordinatorRig, seen } from '../../support/rigs/coordinator-rig.ts';
import { running } from '../../support/rigs/core-rig.ts';

type Hello = Partial<Extract<Up, { type: 'hello' }>>;

const keyOf = async (rig: CoordinatorRig): Promise<string> =>
  String((await rig.memory.query(`SELECT value FROM secrets WHERE name = 'id-proofs'`))[0]?.value);

/** What a host reports that has seen these ids, with a proof of the database's own key. */
async function withProof(rig: CoordinatorRig, ids: { execution: number; service: number }): Promise<Hello> {
  return { highest: ids, idProofs: [{ ...ids, proof: idCode.proofOf(await keyOf(rig), ids) }] };
}

/** A rig whose bound on ids without a proof is 10. */
const openRig = () => CoordinatorRig.open({ bounds: { ...defaultBounds, unprovenIds: 10 } });

/** Says hello and returns the code with which the connection was closed. */
async function hello(rig: CoordinatorRig, message: Hello): Promise<number | undefined> {
  const { socket, connection } = await greet(rig, message);
  connection.closed();
  return socket.closeCode;
}

async function greet(rig: CoordinatorRig, message: Hello) {
  const agent = rig.agent();
  agent.hello([], message);
  await rig.coordinator.state();
  return agent;
}

const unprovenIds = async (rig: CoordinatorRig): Promise<unknown> =>
  (await rig.memory.query('SELECT unproven_ids FROM coordinator'))[0]?.unproven_ids;

test('C210: an assignment carries a proof of its ids, which belongs to no other ids, and which a copy of the database accepts that was made before', async () => {
  const rig = await openRig();
  const agent = await rig.agent().join();
  await rig.submit();
  const { execution, service, idProof: proof = '' } = await agent.started();
  const { idProofs } = await withProof(rig, { execution, service });
  expect(proof).toBe(idProofs?.[0]?.proof);
  expect(proof).toMatch(/^[\w-]{22}$/);
  const key = await keyOf(rig);
  const isProof = (ids: Partial<ProvenIds>) => idCode.isProof(key, { execution, service, proof, ...ids });
  expect(isProof({})).toBe(true);
  for (const wrong of [
    { execution: execution + 1 },
    { service: service + 1 },
    { execution: service, service: execution + 10 },
    { proof: '' },
    { proof: proof.slice(1) },
    { proof: `${proof.startsWith('A') ? 'B' : 'A'}${proof.slice(1)}` },
  ])
    expect(isProof(wrong)).toBe(false);
  expect(idCode.isProof('another key', { execution, service, proof })).toBe(false);
  await rig.memory.batch([
    { sql: 'DELETE FROM executions', args: [] },
    { sql: `DELETE FROM sqlite_sequence WHERE name IN ('executions', 'services')`, args: [] },
  ]);
  rig.restart();
  expect(
    await hello(rig, { highest: { execution, service }, idProofs: [{ execution, service, proof }] }),
  ).toBeUndefined();
  expect(await unprovenIds(rig)).toBe(0);
  expect(await rig.submit()).toBe(execution + 1);
});
test('C210: ids with a proof are skipped, however many there are and whichever host shows it, and do not count as ids without one', async () => {
  const rig = await openRig();
  const ids = { execution: 5_000_000_000, service: 7_000_000_000 };
  for (let n = 0; n < 2; n++) expect(await hello(rig, await withProof(rig, ids))).toBeUndefined();
  expect(await rig.submit()).toBe(5_000_000_001);
  expect(await unprovenIds(rig)).toBe(0);
  expect(rig.logged.join('\n')).not.toContain('agent.unproven-ids');
});
test('C210: a proof by another database, or of other ids, counts as none', async () => {
  const rig = await openRig();
  const own = await withProof(rig, { execution: 3, service: 3 });
  const other = await CoordinatorRig.open();
  const copied = { execution: 4_000, service: 4_000 };
  const proof = own.idProofs?.[0]?.proof ?? '';
  expect(await hello(rig, await withProof(other, copied))).toBe(4400);
  expect(await hello(rig, { highest: copied, idProofs: [{ ...copied, proof }] })).toBe(4400);
  expect(await hello(rig, { idProofs: [{ ...copied, proof }] })).toBeUndefined();
  expect(await rig.submit()).toBe(1);
});

test('C211: ids without a proof are skipped up to the bound in all, of executions and services together', async () => {
  const rig = await openRig();
  expect(await hello(rig, { highest: { execution: 4, service: 4 } })).toBeUndefined();
  expect(await unprovenIds(rig)).toBe(8);
  const { socket } = await greet(rig, { highest: { execution: 6, service: 5 } });
  expect(socket.closeCode).toBe(4400);
  expect(socket.closeReason).toContain('ids without a proof');
  expect(socket.all('sync')).toEqual([]);
  expect(await hello(rig, { highest: { execution: 5, service: 5 } })).toBeUndefined();
  expect(await hello(rig, { highest: { execution: 6, service: 0 } })).toBe(4400);
  expect(await rig.submit()).toBe(6);
  expect(rig.logged.filter((line) => line.startsWith('agent.unproven-ids'))).toEqual([
    expect.stringContaining('"unproven":8,"total":8,"limit":10,"decision":"skip"'),
    expect.stringContaining(
      '"host":"one","execution":6,"service":5,"unproven":3,"total":8,"limit":10,"decision":"refuse"',
    ),
    expect.stringContaining('"decision":"skip"'),
    expect.stringContaining('"decision":"refuse"'),
  ]);
});
test('C211: the bound holds for the life of the database, across restarts of the control plane', async () => {
  const rig = await openRig();
  await hello(rig, { highest: { execution: 10, service: 0 } });
  rig.restart();
  expect(await hello(rig, { highest: { execution: 11, service: 0 } })).toBe(4400);
  expect(await rig.submit()).toBe(11);
});
test('C211: ids that are known need no proof', async () => {
  const rig = await openRig();
  for (let at = 0; at < 12; at++) await rig.submit();
  expect(await hello(rig, { highest: { execution: 12, service: 12 } })).toBeUndefined();
  expect(await unprovenIds(rig)).toBe(0);
});
test('C211: containers in the inventory count, and a proof of lower ids covers the ids below', async () => {
  const rig = await openRig();
  const agent = rig.agent();
  const shown = await withProof(rig, { execution: 1_000, service: 1_000 });
  agent.hello([seen({ service: 1_007, generation: 1 } as never, running)], shown);
  expect(await rig.submit()).toBe(1_001);
  expect(agent.socket.closeCode).toBeUndefined();
  expect(await unprovenIds(rig)).toBe(7);
});
test('C211: 60 hellos with false ids move the next ids by at most 100,000 in all', async () => {
  const rig = await CoordinatorRig.open();
  for (let at = 1; at <= 60; at++)
    await hello(rig, { highest: { execution: at * 99_000_000, service: at * 99_000_000 } });
  expect(await rig.submit()).toBe(1);
  for (let at = 1; at <= 60; at++) await hello(rig, { highest: { execution: at * 5_000, service: 0 } });
  expect(await rig.submit()).toBe(100_001);
});
test('C211: many small steps make one range of unknown services', async () => {
  const rig = await CoordinatorRig.open();
  for (let at = 1; at <= 50; at++) await hello(rig, { highest: { execution: 0, service: at } });
  const { socket } = await greet(rig, { highest: { execution: 0, service: 60 } });
  expect(socket.all('sync')[0]?.unknown).toEqual([{ first: 1, last: 60 }]);
  expect(await rig.memory.query('SELECT first, last FROM unknown_services')).toEqual([
    { first: 1, last: 60 },
  ]);
  rig.restart();
  await rig.submit();
  const again = await rig.agent().join();
  expect(again.socket.all('sync')[0]?.unknown).toEqual([{ first: 1, last: 60 }]);
});
