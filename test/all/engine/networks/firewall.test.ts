/** The firewall for containers, with a real engine, real iptables and a machine that stands for a cloud. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../../../../agent/engine/engine.ts';
import { hostFirewall } from '../../../../agent/host/firewall.ts';
import { systemPath } from '../../../../agent/system-programs.ts';
import { Namespace } from '../../../support/cluster/namespace.ts';
import { dockerRig } from '../../../support/engines/docker-rig.ts';
import { type Program, startCommand } from '../../../support/hosts/process.ts';

const { docker, run, exitOf, makeEngine } = dockerRig('wall');

const METADATA = '169.254.169.254';
const ELSEWHERE = '203.0.113.5';
const GATEWAY = '203.0.113.1';
const PAGE =
  "require('node:http').createServer((_, answer) => answer.end('page')).listen(80, () => console.log('listens'))";

const system = (...command: string[]) => {
  const [file = '', ...args] = command;
  return promisify(execFile)(file, args, { env: { ...process.env, PATH: systemPath() } });
};
const rulesOf = async (chain: string): Promise<string> => (await system('iptables', '-S', chain)).stdout;

/** A machine beside the host, which has the address of a metadata service and an ordinary one. */
let cloud: Namespace;
let server: Program;

beforeAll(async () => {
  cloud = await Namespace.make();
  await system('ip', ...`link add cloud0 type veth peer name eth0 netns ${cloud.pid}`.split(' '));
  for (const address of [`${GATEWAY}/24`, '169.254.169.1/24'])
    await system('ip', 'address', 'add', address, 'dev', 'cloud0');
  await system('ip', 'link', 'set', 'cloud0', 'up');
  for (const address of [ELSEWHERE, METADATA]) await cloud.run(`ip address add ${address}/24 dev eth0`);
  await cloud.run('ip link set eth0 up');
  await cloud.run(`ip route add default via ${GATEWAY}`);
  server = startCommand([...cloud.onNetwork, process.execPath, '-e', PAGE]);
  await server.waitFor(/listens/);
});

afterAll(async () => {
  await server.kill();
  await cloud.end();
  await hostFirewall(true).removeUnused();
});

/** Whether a container reads a page there. */
async function reads(url: string): Promise<boolean> {
  const command = ['sh', '-c', 'for i in 1 2 3; do timeout 2 wget -q -O - "$0" && exit 0; done; exit 1', url];
  services += 1;
  const { id } = await run({ service: services, command }, guarded);
  return (await exitOf(id)).exitCode === 0;
}
let services = 0;
/** As in an agent: it makes sure of the rules whenever it makes a bridge. */
let guarded: Engine;
beforeEach(() => {
  guarded = makeEngine({ bridgeMade: () => hostFirewall(true).ensure() });
});

/** A service of the host itself, on all its addresses. */
async function serveOnHost(port: number): Promise<void> {
  const http = createServer((_, answer) => answer.end('page'));
  await new Promise<void>((done) => http.listen(port, '0.0.0.0', done));
  onTestFinished(() => void http.close());
}

test('P96: a container reaches other machines, and never the metadata service of a cloud', async () => {
  await hostFirewall(true).apply();
  expect(await reads(`http://${ELSEWHERE}/`)).toBe(true);
  expect(await reads(`http://${METADATA}/`)).toBe(false);
});

test('P96: a container reaches no service of its host, and the ports that the engine publishes', async () => {
  await hostFirewall(true).apply();
  await serveOnHost(9181);
  expect(await reads(`http://${GATEWAY}:9181/`)).toBe(false);
  const page = ['sh', '-c', 'echo page > /tmp/index.html; exec httpd -f -p 80 -h /tmp'];
  const published = await run({ service: 50, command: page, ports: [{ port: 80, protocol: 'tcp' }] });
  if (published.state !== 'running') throw new Error(`it is ${published.state}`);
  expect(await reads(`http://${GATEWAY}:${published.ports[0]?.hostPort}/`)).toBe(true);
});

test('P96: the rules are renewed as often as wanted, repaired, and first in their chains', async () => {
  await hostFirewall(true).apply();
  const before = [await rulesOf('BERTH-INPUT'), await rulesOf('BERTH-FORWARD'), await rulesOf('DOCKER-USER')];
  await hostFirewall(true).apply();
  await system('iptables', '-F', 'BERTH-FORWARD');
  await system('iptables', '-D', 'DOCKER-USER', '-i', 'berth+', '-j', 'BERTH-FORWARD');
  await hostFirewall(true).apply();
  expect([
    await rulesOf('BERTH-INPUT'),
    await rulesOf('BERTH-FORWARD'),
    await rulesOf('DOCKER-USER'),
  ]).toEqual(before);
  expect(before[2]?.split('\n')[1]).toBe('-A DOCKER-USER -i berth+ -j BERTH-FORWARD');
});

test('P96: the first bridge of an agent has the rules, although another agent of the machine has removed them meanwhile', async () => {
  await hostFirewall(true).apply();
  for (const { jump, chain } of [
    { jump: 'DOCKER-USER', chain: 'BERTH-FORWARD' },
    { jump: 'INPUT', chain: 'BERTH-INPUT' },
  ])
    await system('iptables', '-D', jump, '-i', 'berth+', '-j', chain);
  expect(await reads(`http://${METADATA}/`)).toBe(false);
});

test('P96: the rules are in force for a bridge that is made while another agent removes them', async () => {
  await hostFirewall(true).apply();
  const seen = [[], ['berth0']];
  await hostFirewall(true, async () => seen.shift() ?? []).removeUnused();
  expect(await rulesOf('INPUT')).toContain('-A INPUT -i berth+ -j BERTH-INPUT');
  expect(await rulesOf('DOCKER-USER')).toContain('-A DOCKER-USER -i berth+ -j BERTH-FORWARD');
});

test('P96: another agent that removes the rules meanwhile leaves no jump to a chain without them', async () => {
  const remover = hostFirewall(true, async () => []);
  for (let n = 0; n < 20; n += 1) {
    await Promise.all([
      remover.removeUnused(),
      hostFirewall(true)
        .apply()
        .catch(() => {}),
    ]);
    const { stdout: rules } = await system('iptables', '-S');
    const hasJump = rules.includes('-j BERTH-FORWARD');
    expect([hasJump, /-A BERTH-FORWARD -d .* -j REJECT/.test(rules)]).toEqual([hasJump, hasJump]);
  }
});

test('P96: the rules stay while a bridge of Berth is left', async () => {
  await run();
  await hostFirewall(true).apply();
  await hostFirewall(true).removeUnused();
  expect(await rulesOf('INPUT')).toContain('BERTH-INPUT');
  expect((await docker.listNetworks()).length).toBeGreaterThan(0);
});
