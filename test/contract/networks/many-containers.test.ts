/**
 * One user with more containers on one host than the first network has addresses. NETWORK_CONTAINERS=1000
 * starts as many as a Linux bridge has ports for.
 */
import { expect, test } from 'vitest';
import { Lane } from '../../../agent/engine/lane.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const CONTAINERS = Number(process.env.NETWORK_CONTAINERS ?? 70);
/** As many as an agent starts at once. */
const AT_ONCE = 8;
const MS_PER_CONTAINER = 3_000;

const { docker, deployment, engine, assignment, run } = dockerRig('many');

/** Whether a container gets the page of another one by its name, once that one serves it. */
async function reads(from: string, service: number): Promise<boolean> {
  const { name } = assignment({ service });
  const patience =
    'for i in 1 2 3 4 5 6 7 8 9 10; do timeout 2 wget -q -O - "$0" && exit; sleep 1; done; exit 1';
  const Cmd = ['sh', '-c', patience, `http://${name}:8080/`];
  const exec = await docker.getContainer(from).exec({ Cmd });
  await exec.start({});
  const end = await eventually(async () => {
    const seen = await exec.inspect();
    return seen.Running ? undefined : seen;
  }, 30_000);
  return end?.ExitCode === 0;
}

test(`P93: all of ${CONTAINERS} containers of a user run on one host and reach each other by name`, {
  timeout: 60_000 + CONTAINERS * MS_PER_CONTAINER,
}, async () => {
  const lane = new Lane(AT_ONCE);
  const command = ['sh', '-c', 'echo page > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'];
  const services = Array.from({ length: CONTAINERS }, (_, at) => at + 1);
  const started = await Promise.all(
    services.map((service) => lane.run(() => run({ service, owner: 'alice', command }))),
  );
  expect(started.filter(({ state }) => state !== 'running')).toEqual([]);
  const networks = await docker.listNetworks({ filters: { label: [`berth.deployment=${deployment}`] } });
  expect(networks).toHaveLength(2);
  const [first, last] = [String(started[0]?.id), String(started.at(-1)?.id)];
  expect(await reads(first, CONTAINERS)).toBe(true);
  expect(await reads(last, 1)).toBe(true);
  expect(await reads(last, Math.ceil(CONTAINERS / 2))).toBe(true);
  await Promise.all(started.map(({ id }) => lane.run(() => engine().remove(id))));
});
