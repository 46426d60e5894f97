/**
 * One user with more containers on one host than the first network has addresses, and many users on one host.
 * NETWORK_CONTAINERS=1000 starts as many as a Linux bridge has ports for, NETWORK_USERS=300 more users.
 */
import { expect, test } from 'vitest';
import { Lane } from '../../../../agent/engine/lane.ts';
import { dockerRig } from '../../../support/engines/docker-rig.ts';
import { runIn } from '../../../support/engines/run-in-container.ts';

const CONTAINERS = Number(process.env.NETWORK_CONTAINERS ?? 70);
const USERS = Number(process.env.NETWORK_USERS ?? 20);
/** As many as an agent starts at once. */
const AT_ONCE = 8;
const MS_PER_CONTAINER = 3_000;

const { docker, deployment, engine, assignment, run } = dockerRig('many');

const PAGE = 'page';
const SERVER = ['sh', '-c', `echo ${PAGE} > /tmp/index.html; exec httpd -f -p 8080 -h /tmp`];
const networks = () => docker.listNetworks({ filters: { label: [`berth.deployment=${deployment}`] } });
/** Without those of the test before: an engine before version 28 may miscount the containers on a network. */
const networksOfUsers = async () =>
  (await networks()).filter(({ Labels }) => Labels?.['berth.owner'] !== 'alice');
const nameOf = (service: number): string => assignment({ service }).name;

/** The page if a container gets the page of another one at its name or address, else why it does not. */
async function read(from: string, at: string, tries = 10): Promise<string> {
  const patience =
    'for i in $(seq $0); do said=$(timeout 2 wget -q -O - "$1" 2>&1) && break; sleep 1; done; echo $said';
  return runIn(docker, from, 'sh', '-c', patience, String(tries), `http://${at}:8080/`);
}

test(`P93: all of ${CONTAINERS} containers of a user run on one host and reach each other by name`, {
  timeout: 60_000 + CONTAINERS * MS_PER_CONTAINER,
}, async () => {
  const lane = new Lane(AT_ONCE);
  const services = Array.from({ length: CONTAINERS }, (_, at) => at + 1);
  const started = await Promise.all(
    services.map((service) => lane.run(() => run({ service, owner: 'alice', command: SERVER }))),
  );
  expect(started.filter(({ state }) => state !== 'running')).toEqual([]);
  expect(await networks()).toHaveLength(2);
  const [first, last] = [String(started[0]?.id), String(started.at(-1)?.id)];
  expect(await read(first, nameOf(CONTAINERS))).toBe(PAGE);
  expect(await read(last, nameOf(1))).toBe(PAGE);
  expect(await read(last, nameOf(Math.ceil(CONTAINERS / 2)))).toBe(PAGE);
  await Promise.all(started.map(({ id }) => lane.run(() => engine().remove(id))));
});

test(`P91, P92: ${USERS} users have a network each on one host, reach their own containers, and no other's`, {
  timeout: 60_000 + 2 * USERS * MS_PER_CONTAINER,
}, async () => {
  const lane = new Lane(AT_ONCE);
  const users = Array.from({ length: USERS }, (_, at) => at);
  /** Two containers of each user. */
  const started = await Promise.all(
    users.map((user) =>
      Promise.all(
        [2 * user, 2 * user + 1].map((service) =>
          lane.run(() =>
            run({ service: service + 1, execution: user + 1, owner: `user${user}`, command: SERVER }),
          ),
        ),
      ),
    ),
  );
  const subnets = (await networksOfUsers()).map(({ IPAM }) => IPAM?.Config?.[0]?.Subnet);
  expect(new Set(subnets).size).toBe(USERS);
  const [[first], last] = [started[0] ?? [], started.at(-1) ?? []];
  const foreign = last[0]?.state === 'running' ? last[0].ipAddress : '';
  expect(await read(String(first?.id), nameOf(2))).toBe(PAGE);
  expect(await read(String(last[0]?.id), nameOf(2 * USERS))).toBe(PAGE);
  expect(await read(String(first?.id), foreign, 2)).not.toBe(PAGE);
  expect(await read(String(first?.id), nameOf(2 * USERS), 2)).not.toBe(PAGE);
  await Promise.all(started.flat().map(({ id }) => lane.run(() => engine().remove(id))));
  await engine().removeUnused(0);
  await engine().removeUnused(0);
  expect(await networksOfUsers()).toEqual([]);
});
