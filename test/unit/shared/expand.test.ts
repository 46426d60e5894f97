import { expect, test } from 'vitest';
import { zoeContainers } from '../../../control-plane/http/variants/zoe-containers.ts';
import { assignmentOf, type ExecutionContext, expandApplication } from '../../../shared/expand.ts';
import { assignmentSchema } from '../../../shared/protocol/assignment.ts';
import { application, service } from '../../support/fixtures/applications.ts';

const context: ExecutionContext = {
  executionId: 7,
  executionName: 'nightly',
  deploymentName: 'test',
  userName: 'alice',
  userId: 3,
  fsUid: 1003,
};
const LIMIT = 2;
const port = (port_number: number, more: object = {}) => ({
  ...{ name: `p${port_number}`, port_number, protocol: 'tcp' as const, url_template: 'http://{ip_port}/' },
  ...more,
});
const key = { service: 11, generation: 2 };

test('C27: a definition expands to instances counted from 0, the first of which are essential', () => {
  const web = service({ name: 'web', total_count: 3, essential_count: 2 });
  const specs = expandApplication(application(web, service({ name: 'one', essential_count: 0 })));
  expect(specs.map(({ name, group, essential }) => [name, group, essential])).toEqual([
    ['web0', 'web', true],
    ['web1', 'web', true],
    ['web2', 'web', false],
    ['one0', 'one', false],
  ]);
});

test('C24: values are filled into the environment and into the words of the command', () => {
  const definition = service({
    environment: [['PEER', '{dns_name#db0}:{execution_id}']],
    command: `run '{dns_name#self}' {execution_name} "{{kept}} \${kept}"`,
  });
  const made = assignmentOf(key, 'web0', definition, LIMIT, { ...context, executionName: 'two words' });
  expect(made.environment[0]).toEqual(['PEER', 'db0-7-test:7']);
  expect(made.command).toEqual(['run', 'web0-7-test', 'two words', `{kept} \${kept}`]);
});

test.each([null, '', '   '])('C26: the command %j runs the default command of the image', (command) => {
  expect(assignmentOf(key, 'web0', service({ command }), LIMIT, context).command).toBeNull();
});

test("C27: the environment ends with Berth's own variables, which take precedence", () => {
  const definition = service({ environment: [['EXECUTION_ID', 'mine']] });
  expect(assignmentOf(key, 'web0', definition, LIMIT, context).environment).toEqual([
    ['EXECUTION_ID', 'mine'],
    ['EXECUTION_ID', '7'],
    ['EXECUTION_NAME', 'nightly'],
    ['DEPLOY_NAME', 'test'],
    ['SERVICE_NAME', 'web0'],
    ['BERTH_USER', 'alice'],
    ['BERTH_UID', '3'],
    ['ZOE_USER', 'alice'],
    ['ZOE_UID', '1003'],
  ]);
});

test('H738: where containers look as on the earlier platform they have its labels, its group and its workspace', () => {
  const made = assignmentOf(key, 'web0', service(), LIMIT, { ...context, extras: zoeContainers(5001) });
  expect(made.environment.slice(-3)).toEqual([
    ['ZOE_USER', 'alice'],
    ['ZOE_UID', '1003'],
    ['ZOE_GID', '5001'],
  ]);
  expect(made).toMatchObject({ workspace: '/mnt/workspace' });
  expect(made.labels).toEqual({
    zoe_execution_name: 'nightly',
    zoe_execution_id: '7',
    zoe_service_name: 'web0',
    zoe_service_id: '11',
    zoe_owner: 'alice',
    zoe_deployment_name: 'test',
    zoe_type: 'app_service',
  });
  const whole = { ...made, idProof: 'proof', isolation: 'user' };
  expect(assignmentSchema.parse(whole)).toEqual(whole);
  const usual = assignmentOf(key, 'web0', service(), LIMIT, context);
  expect(usual).not.toHaveProperty('labels');
  expect(usual).not.toHaveProperty('workspace');
});

test('C27: an assignment has everything that an agent needs, and matches the protocol', () => {
  const definition = service({
    work_dir: '/work',
    user: '12:34',
    network: 'shared',
    resources: { memory: { min: 1, max: null }, cores: { min: 0.5, max: 1.5 }, shm: 3 },
    ports: [port(80)],
    volumes: [{ name: 'data', path: '/srv/data', read_only: true }],
  });
  const described = assignmentOf(key, 'web0', definition, LIMIT, context);
  const made = { ...described, idProof: 'proof', isolation: 'user' };
  expect(assignmentSchema.parse(made)).toEqual(made);
  expect(made).toMatchObject({
    ...key,
    execution: 7,
    // This is also its DNS name.
    name: 'web0-7-test',
    instance: 'web0',
    owner: 'alice',
    workDir: '/work',
    user: '12:34',
    ownerUid: 1003,
    network: 'shared',
    memoryMinBytes: 1,
    memoryMaxBytes: 2,
    coresMin: 0.5,
    coresMax: 1.5,
    shmBytes: 3,
    ports: [{ port: 80, protocol: 'tcp' }],
    volumes: [{ name: 'data', path: '/srv/data', readOnly: true }],
  });
});

test('H742, P290: a port is not published if it or its service says so, and what the port says wins', () => {
  const portsOf = (definition: Parameters<typeof service>[0]) =>
    assignmentOf(key, 'web0', service(definition), LIMIT, context).ports;
  const [plain, hidden] = [
    { port: 1, protocol: 'tcp' },
    { port: 2, protocol: 'tcp', publish: false },
  ];
  expect(portsOf({ ports: [port(1), port(2, { publish: false })] })).toEqual([plain, hidden]);
  expect(portsOf({ publish: false, ports: [port(1, { publish: true }), port(2)] })).toEqual([plain, hidden]);
  expect(portsOf({ publish: true, ports: [port(1)] })).toEqual([plain]);
});

test('H745: the container has the path of each port that has one, whatever the description sets', () => {
  const ports = [port(80), port(81)];
  const definition = service({ ports, environment: [['REVERSE_PROXY_PATH_80', '/own']] });
  const proxyPathOf = ({ port_number }: { port_number: number }) =>
    port_number === 80 ? '/80-1-proof' : undefined;
  const { environment } = assignmentOf(key, 'web0', definition, LIMIT, { ...context, proxyPathOf });
  expect(environment.filter(([name]) => name.startsWith('REVERSE_PROXY_PATH_'))).toEqual([
    ['REVERSE_PROXY_PATH_80', '/own'],
    ['REVERSE_PROXY_PATH_80', '/80-1-proof'],
  ]);
  expect(new Map(environment).get('REVERSE_PROXY_PATH_80')).toBe('/80-1-proof');
});
