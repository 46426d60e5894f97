/** Two deployments on one engine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { networkName } from '../../../../agent/engine/networks/scope.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';

let left: Berth;
let right: Berth;

beforeAll(async () => {
  [left, right] = await Promise.all([
    startBerth({ deployment: 'e2e-left' }),
    startBerth({ deployment: 'e2e-right' }),
  ]);
});

afterAll(() => Promise.all([left.close(), right.close()]));

const networkOf = (deployment: string) => networkName({ kind: 'user', of: 'admin' }, deployment, 0);
const idle = (text: string) => application(script(`echo ${text}; exec sleep 1000`));

test('P6: two deployments on one engine share no ids, containers, networks or logs, and one ends without effect on the other', async () => {
  const [l, r] = await Promise.all([left.api.submit(idle('left')), right.api.submit(idle('right'))]);
  expect([l, r]).toEqual([1, 1]);
  await Promise.all([left.api.waitFor(l, 'running'), right.api.waitFor(r, 'running')]);
  const [ours, theirs] = await Promise.all([left.containers(), right.containers()]);
  expect(ours.map(({ Names }) => Names[0])).toEqual(['/main0-1-e2e-left']);
  expect(theirs.map(({ Names }) => Names[0])).toEqual(['/main0-1-e2e-right']);
  expect(Object.keys(ours[0]?.NetworkSettings.Networks ?? {})).toEqual([networkOf('e2e-left')]);
  expect(Object.keys(theirs[0]?.NetworkSettings.Networks ?? {})).toEqual([networkOf('e2e-right')]);

  // A restart inspects everything on the engine.
  await left.program.stop();
  await left.start();
  await left.api.terminate(l);
  await left.api.waitFor(l, 'terminated');
  expect(await right.containers()).toMatchObject([{ Id: theirs[0]?.Id, State: 'running' }]);
  await right.api.terminate(r);
  await right.api.waitFor(r, 'terminated');
  expect(await Promise.all([left.api.logText(l), right.api.logText(r)])).toEqual(['left\n', 'right\n']);
});
