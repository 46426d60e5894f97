import { expect, test } from 'vitest';
import { assemble } from '../../../../control-plane/assembly.ts';
import {
  SavedStorage,
  type SavedStorageMethods,
} from '../../../../control-plane/coordinator/runtime/saved-storage.ts';
import type { SavedState } from '../../../../control-plane/coordinator/sleep/saved-state.ts';
import { migrations } from '../../../../control-plane/store/schema/migrations.ts';
import { VERSION } from '../../../../control-plane/version.ts';

const totals = { sinceMs: 1, wakes: 2, awakeMs: 3, memoryMs: 4 };

const stateOf = (incarnation: string): SavedState => ({
  ...{ incarnation, admitted: 1, connections: [], proofs: [] },
  holding: { name: 'holder', epoch: 7 },
  reservation: { executionId: 3, dueMs: null, hostIds: [1, 2] },
});

/** The storage of an object, as a map. */
function storage() {
  const stored = new Map<string, unknown>();
  const methods: SavedStorageMethods = {
    list: async () => new Map([...stored].sort()),
    put: async (entries: Record<string, string | number>) => {
      for (const [key, value] of Object.entries(entries)) stored.set(key, value);
    },
    delete: async (keys: string[]) => keys.filter((key) => stored.delete(key)).length,
  };
  return { stored, methods };
}

test('C232: what was saved is loaded as it was, however long it is', async () => {
  const { methods, stored } = storage();
  const state = stateOf('x'.repeat(1_700_000));
  expect(new SavedStorage(methods, '1.2.3').save(state, totals)).toBe(true);
  expect([...stored.values()].every((value) => String(value).length <= 500_000)).toBe(true);
  expect(await new SavedStorage(methods, '1.2.3').load()).toEqual({ state, totals });
});

test('C232: neither what another release has saved nor what was discarded is loaded, but the totals are', async () => {
  const { methods, stored } = storage();
  const saved = new SavedStorage(methods, '1.2.3');
  saved.save(stateOf('one'), totals);
  const later = new SavedStorage(methods, '1.2.3');
  await later.load();
  later.discard();
  expect(await new SavedStorage(methods, '1.2.3').load()).toEqual({ totals });
  saved.save(stateOf('one'), totals);
  stored.set('saved.000', String(stored.get('saved.000')).replace(/"release":"[^"]*"/, '"release":"0.0.1"'));
  expect(await new SavedStorage(methods, '1.2.3').load()).toEqual({ totals });
});

test('C232: a release that differs in its schema only is another one', () => {
  const { release } = assemble({ BERTH_DATABASE_URL: 'http://127.0.0.1:1' });
  expect(release).toBe(`${VERSION} with schema ${migrations.at(-1)?.version}`);
});

test('C232: a state that the storage would not take is not saved', () => {
  const { methods, stored } = storage();
  expect(new SavedStorage(methods, '1.2.3').save(stateOf('x'.repeat(64_000_000)), totals)).toBe(false);
  expect(stored.size).toBe(0);
});

test('P172: the gateways that have had a connection are known to later objects', async () => {
  const { methods } = storage();
  const saved = new SavedStorage(methods, '1.2.3');
  for (const gateway of [3, 0, 3]) saved.addGateway(gateway);
  saved.save(stateOf('one'), totals);
  const later = new SavedStorage(methods, '2.0.0');
  expect(await later.load()).toEqual({ totals });
  expect([...later.gateways]).toEqual([0, 3]);
});
