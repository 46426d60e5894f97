/** Starts of `npm start` and `npm run dev` that fail. */
import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../support/hosts/port.ts';
import { sourcePath, startProgram } from '../../../support/hosts/process.ts';
import { serving } from '../../../support/tools/serving.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

/** `npm run dev` bundles the Worker before its agent looks for an engine: 8 s of processor time. */
const END_MS = 60_000;
vi.setConfig({ testTimeout: END_MS + 10_000 });

async function start(entry: string, settings: Record<string, string>) {
  const dataDir = await testFolder();
  const env = { BERTH_DATA_DIR: dataDir, BERTH_PORT: String(await freePort()), ...settings };
  const program = startProgram([sourcePath(entry)], { env });
  onTestFinished(() => program.kill());
  return { code: await program.waitForEnd(END_MS), output: program.output };
}

describe.each(['control-plane/node.ts', 'control-plane/local/dev.ts'])('%s', (entry) => {
  test('H80, C60, C73: the start names all invalid settings at once, what is valid, and new names, and ends with 1', async () => {
    const { code, output } = await start(entry, {
      BERTH_API_VARIANT: 'C',
      BERTH_DEPLOYMENT_NAME: 'A_B',
      BERTH_QUEUE_POLICY: 'fifo',
      BERTH_PLACEMENT_POLICY: 'best',
      BERTH_LIMITS: JSON.stringify({ backfillReserveAfterS: 'soon' }),
      BERTH_HOLD_AFTER: '60',
    });
    expect(output).toContain('BERTH_API_VARIANT: ');
    expect(output).toContain('BERTH_DEPLOYMENT_NAME: ');
    expect(output).toMatch(/BERTH_QUEUE_POLICY: .*"FIFO" or "SIZE" or "DYNSIZE"/);
    expect(output).toMatch(/BERTH_PLACEMENT_POLICY: .*"average" or "waterfill" or "random"/);
    expect(output).toMatch(/BERTH_LIMITS.backfillReserveAfterS: must be .* seconds/);
    expect(output).toContain('BERTH_HOLD_AFTER is now "backfillReserveAfterS" in BERTH_LIMITS');
    expect(code).toBe(1);
  });
});

test('the first start after an install also compiles the agent, so that neither process loads the TypeScript stripper again', async () => {
  const cache = await testFolder();
  const printStripper =
    'process.on("exit", () => console.log("stripper", process.moduleLoadList.some((name) => name.includes("amaro"))))';
  const env = {
    NODE_COMPILE_CACHE: cache,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(printStripper)}`,
  };
  // The compilation comes before any setting is read.
  const { output } = await start('control-plane/node.ts', { ...env, BERTH_API_VARIANT: 'C' });
  const agent = startProgram(['agent/local/local.ts', 'compile'], { env });
  expect(await agent.waitForEnd()).toBe(0);
  expect([output.match(/stripper .*/)?.[0], agent.output]).toEqual(['stripper false', 'stripper false\n']);
});

test('H786: npm run dev starts nothing over a port that another program has, and ends with 1', async () => {
  const port = await serving(createServer((_, response) => response.end('{}')));
  const { code, output } = await start('control-plane/local/dev.ts', { BERTH_PORT: String(port) });
  expect(output).toContain(`port ${port} is in use: stop what listens there, or set BERTH_PORT`);
  expect(output).not.toContain('listens on');
  expect(code).toBe(1);
});

test('H786: a setting that only the Worker refuses ends the start of npm run dev, once and by its name', async () => {
  const settings = {
    BERTH_LDAP_URL: 'ldaps://directory.example.org',
    BERTH_LDAP_USERS: 'uid={name},dc=example',
  };
  const { code, output } = await start('control-plane/local/dev.ts', settings);
  expect(output.match(/BERTH_LDAP_URL: a Worker can not verify passwords/g)).toHaveLength(1);
  expect(output).not.toMatch(/\n {4}at /);
  expect(code).toBe(1);
});

test('H786: the assets of a Worker are not made with a shop that can not be read', async () => {
  const folder = await testFolder();
  const program = startProgram([sourcePath('control-plane/local/assets/make-worker-assets.ts'), folder], {
    env: { BERTH_SHOP: '/typo' },
  });
  expect(await program.waitForEnd(END_MS)).toBe(1);
  expect(program.output).toContain("BERTH_SHOP: The folder /typo can't be read");
});
