/** The libSQL server that `npm run dev` starts, and the end of its Worker. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../support/hosts/port.ts';
import { type Program, startProgram } from '../../../support/hosts/process.ts';
import { suiteFolder } from '../../../support/tools/test-folder.ts';

let program: Program;
const folder = suiteFolder();
let settings: NodeJS.Dict<string>;
let url: string;

beforeAll(async () => {
  const env = { BERTH_DATA_DIR: folder, BERTH_PORT: String(await freePort()), BERTH_LOCAL_AGENT: 'off' };
  program = startProgram(['control-plane/local/dev.ts'], { env });
  [, url = ''] = await program.waitFor(/Berth on workerd listens on (\S+)/, 120_000);
  settings = parseEnv(await readFile(join(folder, 'dev/vars'), 'utf8'));
});

afterAll(() => program.stop());

const body = JSON.stringify({ requests: [{ type: 'execute', stmt: { sql: 'SELECT username FROM users' } }] });
const query = (headers: Record<string, string>) =>
  fetch(`${settings.BERTH_DATABASE_URL}/v2/pipeline`, { method: 'POST', headers, body });

test('H340: the database of npm run dev serves only clients that have its token, and no page of a web site', async () => {
  expect((await query({})).status).toBe(401);
  expect((await query({ authorization: 'Bearer wrong' })).status).toBe(401);
  const served = await query({ authorization: `Bearer ${settings.BERTH_DATABASE_TOKEN}` });
  expect(served.status).toBe(200);
  expect(await served.text()).toContain('admin');
  const site = { origin: 'http://foreign.example', 'sec-fetch-site': 'cross-site' };
  // A browser sends text/plain across sites without asking the server first.
  const simple = await query({ ...site, 'content-type': 'text/plain' });
  expect([simple.status, await simple.text()]).toEqual([401, expect.not.stringContaining('admin')]);
  for (const path of ['/dump', '/beta/listen?table=users']) {
    const { status } = await fetch(`${settings.BERTH_DATABASE_URL}${path}`, { headers: site });
    expect(status, path).toBe(401);
  }
});

test('H786: once the processes of workerd have ended, npm run dev serves again or ends with 1', async () => {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,pgid=,comm=']);
  const processes = stdout.split('\n').map((line) => line.trim().split(/ +/));
  const workers = processes.filter(([, group, name]) => Number(group) === program.pid && name === 'workerd');
  expect(workers.length).toBeGreaterThan(0);
  for (const [pid] of workers) process.kill(Number(pid), 'SIGKILL');
  const outcome = await program.waitUntil(async () => {
    if (program.ended !== undefined) return program.ended;
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => undefined,
    );
    return answer?.ok && 'serves';
  });
  expect(['serves', 1]).toContain(outcome);
});
