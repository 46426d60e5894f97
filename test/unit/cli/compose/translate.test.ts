import { expect, test } from 'vitest';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { service } from '../../../support/fixtures/descriptions.ts';
import { FOLDER, mainFile, mainOf, problemsOf, remarksOf, translated } from './translated.ts';

const main = (changes: Partial<ServiceDescription> = {}) => service({ image: 'i', ...changes });
const NOTHING = { min: null, max: null };
const MIB = 2 ** 20;
const variables = (all: Record<string, string>) => ({ environment: Object.entries(all) });
const web = (number: number, more: object = {}) => ({
  name: `main ${number}`,
  port_number: number,
  protocol: 'tcp' as const,
  url_template: 'http://{ip_port}/',
  ...more,
});

/** The fields of a service `main` in a Compose file, and what becomes of them. */
const SERVICES: Record<string, [fields: string, changes: Partial<ServiceDescription>]> = {
  'nothing but an image': ['', {}],
  'a command as text': ['command: sleep "1 2"', { command: 'sleep "1 2"' }],
  'a command as words': [`command: [sh, -c, "echo it's $$HOME"]`, { command: `sh -c 'echo it'\\''s $HOME'` }],
  'a command of null': ['command:', { command: null }],
  'variables by name': [
    'environment:\n  A: x=y\n  B: 1.50\n  C: true\n  D: ""\n  E: 0x1F',
    variables({ A: 'x=y', B: '1.50', C: 'true', D: '', E: '0x1F' }),
  ],
  'variables in a list': ['environment: [A=x=y, B=]', variables({ A: 'x=y', B: '' })],
  'ports as text and numbers': [
    'ports: [80, "8080:81", "127.0.0.1:53:53/udp", "9000-9001:90-91", "80"]',
    {
      ports: [
        web(80),
        web(81),
        { name: 'main 53/udp', port_number: 53, protocol: 'udp', url_template: 'udp://{ip_port}' },
        web(90),
        web(91),
      ],
    },
  ],
  'ports with their protocol': [
    'ports:\n  - {target: 1234, app_protocol: redis, name: Cache}\n  - {target: 5432}\n  - "443"',
    {
      ports: [
        web(1234, { name: 'Cache', url_template: 'redis://{ip_port}/' }),
        web(5432, { url_template: 'postgresql://{ip_port}/' }),
        web(443, { url_template: 'https://{ip_port}/' }),
      ],
    },
  ],
  'instances and resources of deploy': [
    'deploy:\n  replicas: 3\n  resources:\n    limits: {cpus: "1.5", memory: 512M}\n    reservations: {cpus: 0.25, memory: 64mb}\nshm_size: 1g',
    {
      total_count: 3,
      essential_count: 3,
      resources: { memory: { min: 64 * MIB, max: 512 * MIB }, cores: { min: 0.25, max: 1.5 }, shm: 2 ** 30 },
    },
  ],
  'older fields of resources': [
    'scale: 2\nmem_limit: 1.5g\nmem_reservation: 1048576\ncpus: 0.5',
    {
      total_count: 2,
      essential_count: 2,
      resources: { memory: { min: MIB, max: 1536 * MIB }, cores: { min: null, max: 0.5 } },
    },
  ],
  'limits of 0, which are none': [
    'mem_limit: 0\ncpus: 0',
    { resources: { memory: NOTHING, cores: NOTHING } },
  ],
  'folders of the host': [
    'volumes:\n  - /srv/data:/mnt/data\n  - ./in:/mnt/in:ro\n  - ../up:/up\n  - ~/x:/mnt/x\n  - {type: bind, source: ./y, target: /mnt/y, read_only: true}\n  - /z:/var/data/',
    {
      volumes: [
        { name: 'data', path: '/srv/data', read_only: false },
        { name: 'in', path: `${FOLDER}/in`, read_only: true },
        { name: 'up', path: '/srv/up', read_only: false },
        { name: 'x', path: '/srv/x', read_only: false },
        { name: 'y', path: `${FOLDER}/y`, read_only: true },
        { name: 'data-2', path: '/z', read_only: false },
      ],
    },
  ],
  'a user and a folder': ['user: 1000:1000\nworking_dir: /app', { user: '1000:1000', work_dir: '/app' }],
};

test.each(Object.entries(SERVICES))(
  'L71: a service of a Compose file becomes one of a description, with %s',
  (_, [fields, changes]) => {
    expect(mainOf(fields, { env: { HOME: '/srv' } })).toEqual(main(changes));
  },
);

test('L71: a whole file, with extensions, anchors and merged mappings; without a name, it is called as its folder', () => {
  expect(translated(mainFile('')).description.name).toBe('shop');
  const { description } = translated(`
name: my_shop
x-common: &common
  restart: always
  environment: &env {LANG: C}
services:
  db: {<<: *common, image: "postgres:16"}
  web:
    <<: *common
    image: nginx
    environment: {<<: *env, A: b}
    depends_on: [db]
    ports: ["80"]
`);
  expect(description).toEqual({
    ...{ name: 'my-shop', version: 3, will_end: false, size: 2 },
    services: [
      main({
        ...{ name: 'db-service', image: 'postgres:16', monitor: false, restart: { attempts: 100 } },
        ...variables({ LANG: 'C' }),
      }),
      main({
        ...{ name: 'web', image: 'nginx', startup_order: 1, ports: [web(80, { name: 'web 80' })] },
        ...{ restart: { attempts: 100 }, ...variables({ LANG: 'C', A: 'b' }) },
      }),
    ],
  });
});

test.each([
  ['entrypoint: [sh]', '4:5', 'entrypoint'],
  ['networks: [a]', '4:5', 'networks'],
  ['healthcheck: {start_interval: 1s}', '4:19', 'healthcheck.start_interval'],
  ['privileged: true', '4:5', 'privileged'],
  ['build: .', '4:5', 'build'],
  ['command: []', '4:5', 'command'],
  ['user: postgres', '4:5', 'user'],
  ['ports:\n  - "8080:80"', '5:9', 'ports[0]'],
  ['ports: [80/sctp]', '4:13', 'ports[0]'],
  ['ports:\n- target: 80\n  published: 8080', '6:7', 'ports[0].published'],
  ['volumes: [data:/var]', '4:15', 'volumes[0]'],
  ['volumes: [/var]', '4:15', 'volumes[0]'],
  ['volumes:\n- type: tmpfs\n  target: /x', '5:7', 'volumes[0]'],
  ['volumes: ["/a:/mnt/a:z"]', '4:15', 'volumes[0]'],
  ['deploy: {mode: global}', '4:14', 'deploy.mode'],
  ['deploy: {placement: {}}', '4:14', 'deploy.placement'],
  ['deploy: {resources: {limits: {pids: 5}}}', '4:35', 'deploy.resources.limits.pids'],
  ['deploy: {restart_policy: {condition: none, delay: 5s}}', '4:48', 'deploy.restart_policy.delay'],
  ['environment: [NOWHERE]', '4:19', 'environment[0]'],
])('L71: %j has no meaning here and is listed with its place', (fields, place, path) => {
  const { leftOut } = remarksOf(mainFile(fields));
  expect(leftOut).toEqual([`${place} services.main.${path}`]);
});

test('L71: fields of the file as a whole, and services of a profile, are listed, but no extensions', () => {
  expect(remarksOf(`x-a: 1\n${mainFile('x-b: 2')}`)).toEqual({ leftOut: [], notes: [] });
  const text = `version: "3"\nnetworks: {a: }\n${mainFile('')}  other: {image: i, profiles: [p]}\nvolumes: {v: }\n`;
  expect(remarksOf(text).leftOut.toSorted()).toEqual([
    ...['1:1 version', '2:1 networks', '6:3 services.other', '7:1 volumes'],
  ]);
});

test('L71, L73: what becomes something else is listed: a mount elsewhere, and a variable that is not set', () => {
  expect(remarksOf(mainFile('volumes: [/a:/b]')).notes).toEqual(['4:15 services.main.volumes[0]']);
  expect(remarksOf(mainFile('working_dir: $NOT_SET')).notes).toEqual(['4:5 services.main.working_dir']);
});

test.each([
  ['image: j', '4:5', 'image is there twice: remove one'],
  ['comand: x', '4:5', 'comand is not a field of Compose at this place; Berth reads image, command'],
  [
    'env_file: [{path: a, optional: true, required: false}]',
    '4:26',
    'env_file[0].optional is not a field of',
  ],
  ['extends: x', '4:5', 'extends is not read: docker compose config writes it out'],
  ['command: {a: b}', '4:5', 'command must be text or a list of texts'],
  ['cpus: some', '4:5', 'cpus must be a number of cores'],
  ['mem_limit: 5 apples', '4:5', 'mem_limit must be a size such as 512m'],
  ['ports: [x]', '4:13', 'ports[0] is not a port such as "8080:80"'],
  ['ports: ["1-60000"]', '4:13', 'ports[0] is not a port such as "8080:80", or a range of at most 256'],
  ['scale: 2\ndeploy: {replicas: 3}', '4:5', 'scale differs from deploy.replicas: remove one'],
  ['scale: 0', '4:5', 'scale has no instance: remove the service'],
  ['depends_on: [db]', '4:5', 'depends_on.db is not a service that runs: remove it here'],
  ['depends_on: [main]', '4:5', 'depends_on closes a circle: main -> main; remove one'],
  ['env_file: none.env', '4:5', 'env_file has the file none.env, which does not exist: make it'],
  ['x-berth: {montor: true}', '4:15', 'x-berth.montor is not a field of the description format'],
  ['x-berth: {monitor: 5}', '4:15', 'x-berth.monitor must be true or false'],
  ['deploy: {replicas: 2000}', '4:14', 'deploy.replicas is /services/0/total_count of the description'],
  ['ports: [80, 70000]', '4:17', 'ports[1] is /services/0/ports/1/port_number of the description, which'],
  ['environment: {A: b, C=: d}', '4:25', 'environment.C= is /services/0/environment/1/0 of'],
  ['mem_limit: 1m\nmem_reservation: 2m', '2:3', 'deploy.resources is /services/0/resources/memory/max'],
])('L72: the fields %j are a problem with its place and the way out', (fields, place, words) => {
  const begin = `${place} services.main.${words}`;
  expect(problemsOf(mainFile(fields)).map((one) => one.slice(0, begin.length))).toEqual([begin]);
});

test.each([
  ['services: [', '1:12  is not YAML'],
  ['services: []', '1:1 services must map names to services; the name of a file with a description'],
  ['a: 1', '1:1 services must map names to services'],
  ['services: {}', '1:1 services has 0 services'],
  ['[]', '1:1  must be an object'],
  ['a: 1\n---\nb: 2', '2:1  has a second document'],
  ['services: {a: !reset null}', '1:15  has a tag'],
  ['include: [x]\nservices: {abc: {image: i}}', '1:1 include is not read: docker compose config'],
  ['x-berth: {services: []}\nservices: {abc: {image: i}}', '1:11 x-berth.services is not one of name'],
  ['services:\n  abc: {}', '2:3 services.abc has no image: Berth builds none'],
  ['services:\n  abc:', '2:3 services.abc must be an object'],
  [
    'services:\n  a-name-that-is-long: {image: i}',
    '2:3 services.a-name-that-is-long must have a name of 3 to 16',
  ],
  [
    'services:\n  a.b: {image: i}\n  a_b: {image: i}',
    '3:3 services.a_b is /services/1/name of the description, which',
  ],
  ['services: {abc: {image: i, volumes: *a}}', '1:28 services.abc.volumes has the alias a, whose anchor'],
])('L72: the file %j is a problem with its place and the way out', (text, begin) => {
  expect(problemsOf(text).map((one) => one.slice(0, begin.length))).toEqual([begin]);
});

test('L72: all services report their problems at once', () => {
  const text = 'services:\n  one: {image: i, ports: [x]}\n  two: {depends_on: [one, six]}\n';
  expect(problemsOf(text).map((one) => one.split(' ')[1])).toEqual([
    ...['services.two', 'services.two.depends_on.six', 'services.one.ports[0]'],
  ]);
});
