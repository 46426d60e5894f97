import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('an agent loads no package for building images, and ssh2 only for an engine behind ssh', () => {
  const program = `
    const { createRequire } = await import('node:module');
    const { connectEngine } = await import('./agent/engine/engine-address.ts');
    const { cache } = createRequire(process.cwd() + '/agent/main.ts');
    const modules = ['ssh2', '@grpc', 'protobufjs'].map((name) => '/node_modules/' + name + '/');
    const all = () => modules.map((name) => Object.keys(cache).filter((path) => path.includes(name)).length);
    connectEngine('unix:///nowhere');
    const before = all();
    process.env.DOCKER_HOST = 'ssh://root@127.0.0.1:1';
    connectEngine(process.env.DOCKER_HOST).ping().catch(() => {});
    console.log(JSON.stringify([before, all()]));`;
  const args = ['--no-deprecation', '--input-type=module', '-e', program];
  const [before, after] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  // One in place of each package that is left out.
  expect(before).toEqual([0, 2, 1]);
  expect(after[0]).toBeGreaterThan(1);
});
