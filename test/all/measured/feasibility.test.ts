import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { draft } from '../../../control-plane/core/lifecycle/admission.ts';
import type { ResourceDemand } from '../../../control-plane/core/model/resources.ts';
import { unloadWaiting } from '../../../control-plane/core/state/loading.ts';
import { explain, explainSubmission } from '../../../control-plane/core/views/explanation.ts';
import { application, needs, service } from '../../support/fixtures/applications.ts';
import { CoreRig, hostFacts } from '../../support/rigs/core-rig.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const tooLarge = application(service({ resources: needs(1_000, 1_000) }));

function rigOfOneHost(): CoreRig {
  const rig = new CoreRig();
  rig.hello(hostFacts('host'));
  rig.turn();
  return rig;
}

/** Whether the demand is still in memory after a collection. A WeakRef holds its target for one job. */
async function isKept(demand: WeakRef<ResourceDemand>): Promise<boolean> {
  await new Promise((done) => setImmediate(done));
  collect();
  return demand.deref() !== undefined;
}

test('C176: a dry run that no host can take leaves nothing of its needs in memory', async () => {
  const rig = rigOfOneHost();
  const dryRun = (): WeakRef<ResourceDemand> => {
    const submission = { userId: 1, name: 'draft', application: tooLarge, description: '{}' };
    const execution = draft(rig.cluster, submission, rig.nowMs);
    expect(explainSubmission(rig.cluster, execution, rig.nowMs)).toMatchObject({ fitsWhenIdle: false });
    return new WeakRef(execution.demand);
  };
  expect(await isKept(dryRun())).toBe(false);
});

test('C176: an execution that has ended before its placement leaves nothing of its needs in memory', async () => {
  const rig = rigOfOneHost();
  const explainAndTerminate = (): WeakRef<ResourceDemand> => {
    const execution = rig.submit(tooLarge);
    rig.turn();
    expect(explain(rig.cluster, execution, rig.nowMs)).toMatchObject({ fitsWhenIdle: false });
    const demand = new WeakRef(execution.demand);
    rig.terminate(execution);
    // As at the end of a turn.
    rig.cluster.takeChanges();
    unloadWaiting(rig.cluster);
    // The rig has the decisions of its last turn.
    rig.decisions = [];
    return demand;
  };
  expect(await isKept(explainAndTerminate())).toBe(false);
});
