import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { tryOut } from '../../../../agent/update/trial.ts';
import { startCommand } from '../../../support/hosts/process.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const TRIAL = JSON.stringify(resolve(import.meta.dirname, '../../../../agent/update/trial.ts'));

/** Runs this as the new agent; resolves to the reason why it is not to be used. */
async function trialOf(code: string, options: { waitMs?: number; signal?: AbortSignal } = {}) {
  const candidate = join(await testFolder(), 'candidate.mjs');
  await writeFile(candidate, `import { endWithParent, passTrial } from ${TRIAL};\n${code}`);
  const { waitMs = 15_000, signal = new AbortController().signal } = options;
  return tryOut({ candidate, env: process.env, waitMs, signal });
}

const STAYS = 'setInterval(() => {}, 1_000);';

test('P202: a new agent that connects is good, and one that ends before or does not connect in time is not used', async () => {
  expect(await trialOf(`${STAYS} passTrial();`)).toBeUndefined();
  const ended = await trialOf('console.error("no such thing"); process.exit(3);');
  expect(ended).toBe('it ended (3) before it connected: no such thing');
  const late = await trialOf(STAYS, { waitMs: 400 });
  expect(late).toBe('it did not connect within 0.4 s: it has printed nothing');
});

test('P202: a trial ends when the agent that tries it is stopped', async () => {
  const stop = new AbortController();
  const trial = trialOf(STAYS, { signal: stop.signal });
  stop.abort();
  expect(await trial).toBe('this agent was stopped meanwhile');
});

test('P202: a new agent on trial ends too if the agent that tries it has ended before it looked', async () => {
  const early =
    'process.once("disconnect", () => endWithParent(() => process.exit(6))); process.disconnect();';
  expect(await trialOf(`${STAYS} ${early}`)).toMatch(/^it ended \(6\) before it connected/);
});

test('P202: a new agent on trial ends with the agent that tries it', async () => {
  const folder = await testFolder();
  const [candidate, parent] = [join(folder, 'candidate.mjs'), join(folder, 'parent.mjs')];
  await writeFile(
    candidate,
    `import { endWithParent } from ${TRIAL}; ${STAYS} endWithParent(() => process.exit(0)); console.error(process.pid);`,
  );
  const signal = 'signal: new AbortController().signal';
  await writeFile(
    parent,
    `import { tryOut } from ${TRIAL}; await tryOut({ candidate: ${JSON.stringify(candidate)}, env: process.env, waitMs: 60_000, ${signal} });`,
  );
  const program = startCommand([process.execPath, parent]);
  const [, pid] = await program.waitFor(/^(\d+)$/m);
  await program.kill();
  await eventually(() => !existsSync(`/proc/${pid}`));
});
