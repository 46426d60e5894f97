import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Application } from '../../shared/application-schema.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { onHosts } from '../support/hosts/hosts.ts';

const FILE = `
services:
  web:
    image: nginx:\${TAG}
    env_file: web.env
    ports: ["8080:80"]
    x-berth: {labels: [nowhere]}
`;
const LEFT_OUT =
  'services.web.ports[0] is left out: only its port of the host, 8080: a free one is published in its place ' +
  '(berth endpoints)\n';

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  const api = new ApiClient(host);
  const berth = adminLine(host);
  const folder = join(berth.home, 'shop');
  const path = join(folder, 'compose.yaml');
  beforeAll(async () => {
    await mkdir(folder);
    await writeFile(join(folder, '.env'), 'TAG=1\n');
    await writeFile(join(folder, 'web.env'), 'COLOUR=red\n');
  });
  beforeEach(() => writeFile(path, FILE));
  afterEach(async () => {
    for (const id of Object.keys(await api.executions())) await api.remove(Number(id));
  });

  test('L70, L71: run submits a Compose file, and lists what it left out', async () => {
    const { code, out, err } = await berth.run(['run', path, '--set', 'services.web.total_count=2']);
    expect([code, err]).toEqual([0, `${path}:6:13: ${LEFT_OUT}`]);
    const { name, description } = await api.execution(Number(out));
    expect(name).toBe('shop');
    expect((description as Application).services[0]).toMatchObject({
      ...{ name: 'web', image: 'nginx:1', environment: [['COLOUR', 'red']], total_count: 2 },
    });
  });

  test('L70: validate and explain take a Compose file, and submit nothing', async () => {
    const validated = await berth.run(['validate', path]);
    expect(validated).toEqual({ code: 0, out: '', err: `${path}:6:13: ${LEFT_OUT}${path} is valid.\n` });
    const explained = await berth.run(['explain', path, '--json']);
    expect([explained.code, JSON.parse(explained.out)]).toMatchObject([0, { status: null }]);
    expect(await api.executions()).toEqual({});
  });

  test('L70: run --print prints the description of a file, and needs no control plane', async () => {
    const alone = new CommandLine();
    const printed = await alone.run(['run', path, '--print']);
    expect([printed.code, printed.err]).toEqual([0, `${path}:6:13: ${LEFT_OUT}`]);
    expect(JSON.parse(printed.out)).toMatchObject({ name: 'shop', services: [{ name: 'web' }] });
    const again = await alone.run(['run', '-', '--print', '--set', 'size=3'], printed.out);
    expect(JSON.parse(again.out)).toEqual({ ...JSON.parse(printed.out), size: 3 });
    const own = await alone.run(['run', '--image', 'i', '--print', '--', 'a b']);
    expect(JSON.parse(own.out)).toMatchObject({ services: [{ image: 'i', command: "'a b'" }] });
  });

  test('L3, L72: a file with problems is not submitted, and its texts can not act on the terminal', async () => {
    await writeFile(path, `services:\n  web:\n    "a\\u001b\\u202e": 1\n    "a\\u001b\\u202e": 2\n`);
    for (const command of ['run', 'validate', 'explain'])
      expect(await berth.refusal([command, path])).toBe(
        `${path} can't be translated:\n  ${path}:4:5: services.web.a  is there twice: remove one\n`,
      );
    expect(await api.executions()).toEqual({});
  });

  test('L70, L72: a description in a file of YAML, a file that is not there and one that is no text are refused', async () => {
    await writeFile(path, JSON.stringify(application(service())));
    expect((await berth.run(['run', path])).err).toContain('with a description of Berth ends with .json');
    await writeFile(path, Buffer.from([0xff, 0xfe]));
    expect((await berth.run(['run', path])).err).toBe(`${path} is not text in UTF-8.\n`);
    await rm(path);
    expect((await berth.run(['run', path])).err).toBe(`${path}: no such file.\n`);
  });
});
