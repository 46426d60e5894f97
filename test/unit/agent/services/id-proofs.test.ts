import { existsSync, readdirSync, rmSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { StoredIds } from '../../../../agent/logs/stored-ids.ts';
import { seenIds } from '../../../../agent/services/agent.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;
beforeEach(() => {
  machine = new AgentMachine();
});

const wanted = (service: number, execution: number, idProof: string) =>
  assignment({ service, execution, idProof });
const proven = (service: number, execution: number, proof: string) => ({ service, execution, proof });
const nothing = { highest: { execution: 0, service: 0 }, idProofs: [] };

test('P31, P144: hello carries the highest ids of containers and stored logs, with the proofs of each', async () => {
  const first = await machine.begin();
  expect(await first.hello()).toMatchObject(nothing);
  await first.run([wanted(7, 5, 'seven'), wanted(9, 3, 'nine'), wanted(8, 4, 'eight')]);
  const second = await machine.restart();
  const { highest, idProofs } = await second.hello();
  expect(highest).toEqual({ execution: 5, service: 9 });
  expect(idProofs).toEqual([proven(7, 5, 'seven'), proven(9, 3, 'nine')]);
});
test('P31, P144: a proof outlives its container, with the stored log', async () => {
  const highest = { execution: 5, service: 9 };
  const kept = { highest, idProofs: [proven(9, 5, 'nine')] };
  const first = await machine.run([wanted(9, 5, 'nine'), wanted(7, 3, 'seven')]);
  first.stop({ service: 9, generation: 1 });
  await first.reported(9, 'gone');
  first.terminate();
  expect(await (await machine.rig.peer.connection(2)).hello()).toMatchObject(kept);
  const second = await machine.restart();
  expect(await second.hello()).toMatchObject(kept);
  second.welcome([]);
  await second.reported(7, 'gone');
  second.send({ type: 'forget', services: [9, 7] });
  await eventually(() => second.reports().some(({ forgotten }) => forgotten.includes(9)));
  expect(await (await machine.restart()).hello()).toMatchObject(nothing);
});
test('P144: a proof is read from the label if the data folder was lost', async () => {
  await machine.run([wanted(9, 5, 'nine')]);
  await machine.rig.close();
  rmSync(`${machine.folder}/data`, { recursive: true });
  expect((await (await machine.begin()).hello()).idProofs).toEqual([proven(9, 5, 'nine')]);
});
test('P144: a container without a proof counts as seen, and has none in hello', () => {
  const containers = [wanted(3, 2, 'three'), { service: 4, execution: 6 }];
  expect(seenIds(containers, { highestService: 8, proven: [] })).toEqual({
    highest: { execution: 6, service: 8 },
    idProofs: [proven(3, 2, 'three')],
  });
});
test('P143, P144: a proof that is given again stays, and one of another database takes its place', () => {
  const dir = `${machine.folder}/logs`;
  const store = new StoredIds(dir, []);
  for (const one of [wanted(1, 1, 'former'), wanted(1, 2, 'present'), wanted(1, 2, 'present')]) {
    store.keep(one);
    expect(readdirSync(`${dir}/1`)).toEqual([`${one.execution}.${one.idProof}.ids`]);
  }
  const again = new StoredIds(dir, readdirSync(dir, { recursive: true }).map(String));
  expect(again.proven).toEqual([proven(1, 2, 'present')]);
  again.keep({ service: 2, execution: 2 });
  expect(existsSync(`${dir}/2`)).toBe(false);
});
test('P143: a proof that cannot be stored does not prevent the start', () => {
  const store = new StoredIds('/dev/null/logs', []);
  store.keep(wanted(1, 1, 'one'));
  expect(store.proven).toEqual([proven(1, 1, 'one')]);
});
