import { copyFile, mkdir, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askToRegister, newAgentKey } from '../../../support/agents/enrolment.ts';
import { registeredHost, ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { HttpClient } from '../../../support/clients/http-client.ts';
import { openDatabase } from '../../../support/hosts/databases.ts';
import { type Host, startHost } from '../../../support/hosts/hosts.ts';
import { programPath, startCommand, startProgram } from '../../../support/hosts/process.ts';
import { suiteFolder } from '../../../support/tools/test-folder.ts';

let host: Host;
const folder = suiteFolder();
const api = new ApiClient(() => host);

beforeAll(async () => {
  host = await startHost({ kind: 'node', variant: 'B' });
});
afterAll(() => host.stop());

async function run(command: 'backup' | 'restore', args: string[], env: Record<string, string> = {}) {
  const program = startProgram([`control-plane/${command}.ts`, ...args], {
    env: { BERTH_DATA_DIR: host.dataDir ?? '', ...env },
  });
  return { code: await program.waitForEnd(), output: program.output };
}

async function idsIn(file: string): Promise<number[]> {
  const db = await openDatabase(`file:${file}`);
  const rows = await db.query('SELECT id FROM executions ORDER BY id');
  await db.close();
  return rows.map(({ id }) => Number(id));
}

test('H250: a backup under load is complete, has everything acknowledged before, and is readable by this user only', async () => {
  const before = await Promise.all(Array.from({ length: 20 }, () => api.submit()));
  const file = join(folder, 'loaded');
  const backup = run('backup', [file, '--json']);
  let done = false;
  void backup.then(() => {
    done = true;
  });
  const during: number[] = [];
  while (!done) during.push(await api.submit());
  const { code, output } = await backup;
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({
    file,
    executions: expect.any(Number),
    schema: expect.any(Number),
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const ids = await idsIn(file);
  expect(ids).toEqual([...before, ...during].toSorted((a, b) => a - b).slice(0, ids.length));
  expect(ids.length).toBeGreaterThanOrEqual(before.length);
  await Promise.all([...before, ...during].map((id) => api.terminate(id)));
});

test('H250: a backup never overwrites an existing file', async () => {
  const file = join(folder, 'mine');
  await writeFile(file, 'mine');
  const { code, output } = await run('backup', [file]);
  expect(code).toBe(1);
  expect(output).toContain(`${file} already exists`);
  expect((await stat(file)).size).toBe(4);
});

test.each(['backup', 'restore'] as const)(
  'H251: %s reports what to use for a database on a server',
  async (command) => {
    const settings = { BERTH_DATABASE_URL: 'http://127.0.0.1:9' };
    const { code, output } = await run(command, [join(folder, 'loaded')], settings);
    expect(code).toBe(1);
    expect(output).toContain('The database is on a server: back it up and restore it there');
  },
);

test('H252: a restore refuses a database in use, an existing database, and a file that is not a backup', async () => {
  const [good, bad] = [join(folder, 'good'), join(folder, 'bad')];
  await writeFile(bad, 'no database');
  expect((await run('backup', [good])).code).toBe(0);
  const attempts = [
    [await run('restore', [good, '--force']), 'A control plane is using'],
    [await run('restore', [good]), 'With --force, it is renamed'],
  ] as const;
  await host.crash();
  const last = await run('restore', [bad, '--force']);
  for (const [{ code, output }, text] of [...attempts, [last, 'Nothing was changed'] as const]) {
    expect(output).toContain(text);
    expect(code).toBe(1);
  }
  expect((await readdir(host.dataDir ?? '')).filter((name) => name.includes('before-'))).toEqual([]);
  await host.start();
});

const ownProgram = () =>
  startProgram(['control-plane/node.ts'], {
    env: { BERTH_DATA_DIR: host.dataDir ?? '', BERTH_LOCAL_AGENT: 'off', BERTH_PORT: '0' },
  });

/** Ends the host, so that a control plane is the last to have used its data, and has ended cleanly. */
async function endCleanly(): Promise<void> {
  await host.crash();
  const program = ownProgram();
  await program.waitFor(/Berth listens/);
  expect(await program.stop()).toBe(0);
}

/**
 * Runs `program` with the data of the host on a disk of 4 MiB, mounted at the folder `disk` where only it
 * sees it. `prepare` is a script of the shell, with the folder as $1.
 */
async function onSmallDisk(disk: string, prepare: string, program: string[]) {
  await mkdir(disk, { recursive: true });
  const script = `mount -t tmpfs -o size=4m none "$1"; cp -a "$2/." "$1"; ${prepare}; shift 2; "$@"`;
  const command = [
    'unshare',
    '--map-root-user',
    '--mount',
    'sh',
    '-ec',
    script,
    'sh',
    disk,
    host.dataDir ?? '',
  ];
  const [file = '', ...args] = program;
  const run = startCommand([...command, process.execPath, programPath(file), ...args], {
    env: { BERTH_DATA_DIR: disk, BERTH_LOCAL_AGENT: 'off', BERTH_PORT: '0' },
  });
  return { code: await run.waitForEnd(), output: run.output };
}

const FULL = 'cat /dev/zero > "$1/filling" || true';
const READ_ONLY = 'mount -o remount,ro "$1"';
const RUNNING = [
  `"${process.execPath}" "${programPath('control-plane/node.ts')}" > "$1/log" 2>&1 &`,
  'until grep -q "Berth listens" "$1/log"; do kill -0 $!; done',
].join(' ');

test.each([
  ['a full disk, after a crash', FULL, 'crash'],
  ['a read-only disk, after a crash', READ_ONLY, 'crash'],
  ['a read-only disk without the file that readers share', `rm "$1/berth.db-shm"; ${READ_ONLY}`, 'crash'],
  ['a full disk without the file that readers share', `rm "$1/berth.db-shm"; ${FULL}`, 'crash'],
  ['a full disk, after a clean stop', FULL, 'end'],
  ['a read-only disk, after a clean stop', READ_ONLY, 'end'],
  ['a full disk, beside a control plane', `${RUNNING}; ${FULL}`, 'end'],
] as const)('H770: a backup is made from %s', async (name, prepare, end) => {
  const id = await api.submit();
  await (end === 'crash' ? host.crash() : endCleanly());
  const file = join(folder, name.replaceAll(/\W+/g, '-'));
  const { code, output } = await onSmallDisk(`${file}-disk`, prepare, [
    'control-plane/backup.ts',
    file,
    '--json',
  ]);
  expect(output).toContain('"executions":');
  expect(code).toBe(0);
  const ids = await idsIn(file);
  expect(ids).toContain(id);
  expect(JSON.parse(output.slice(output.indexOf('{"file"')))).toMatchObject({ executions: ids.length });
  await host.start();
  await api.terminate(id);
});

test.each([
  ['full', FULL],
  ['read-only', READ_ONLY],
])(
  'H771: a backup to a %s disk, a restore, a new password and a start on it name its folder',
  async (state, prepare) => {
    const good = join(folder, `good-${state}`);
    expect((await run('backup', [good])).code).toBe(0);
    await endCleanly();
    const disk = join(folder, `disk-${state}`);
    for (const program of [
      ['control-plane/backup.ts', join(disk, 'copy')],
      ['control-plane/restore.ts', good, '--force'],
      ['control-plane/reset-password.ts', 'admin'],
      ['control-plane/node.ts'],
    ]) {
      const { code, output } = await onSmallDisk(disk, prepare, program);
      expect(output).toContain(`The disk of ${disk} is ${state}`);
      expect(output).not.toContain("can't be used");
      expect(code).toBe(1);
    }
    await host.start();
  },
);

test('H772: after a clean stop the file alone is the whole database, and a restore takes a file with its log', async () => {
  const id = await api.submit();
  await endCleanly();
  const data = host.dataDir ?? '';
  expect(
    (await readdir(data)).includes('berth.db-wal') && (await stat(join(data, 'berth.db-wal'))).size,
  ).toBeFalsy();
  await copyFile(join(data, 'berth.db'), join(folder, 'whole'));
  expect(await idsIn(join(folder, 'whole'))).toContain(id);

  await host.start();
  const later = await api.submit();
  await host.crash();
  for (const part of ['', '-wal'])
    await copyFile(join(data, `berth.db${part}`), join(folder, `crashed${part}`));
  expect(await run('restore', [join(folder, 'crashed'), '--force'])).toMatchObject({ code: 0 });
  await host.start();
  for (const each of [id, later]) await api.terminate(each);
});

test('H773: an empty or missing database beside copies of an earlier one is not begun', async () => {
  await endCleanly();
  const file = join(host.dataDir ?? '', 'berth.db');
  const copies = (await readdir(host.dataDir ?? '')).filter((name) => name.includes('before-'));
  for (const copy of copies) await rm(join(host.dataDir ?? '', copy));
  await rename(file, `${file}.old`);
  const start = async () => {
    const program = ownProgram();
    return { code: await program.waitForEnd(), output: program.output };
  };
  for (const prepare of [async () => {}, () => truncate(file)]) {
    await prepare();
    const { code, output } = await start();
    expect(output).toContain(`${file} is empty, but 1 of an earlier time is beside it: ${file}.old`);
    expect(output).toContain(`restore ${file}.old --force`);
    expect(code).toBe(1);
  }
  expect(await run('restore', [`${file}.old`, '--force'])).toMatchObject({ code: 0 });
  await host.start();
});

test('H253, H489, C210: after a restore, services in the backup continue, later ones are left alone, no id is given twice, and proofs of ids are the same', async () => {
  // Through the API, because an open connection of this process to the database would block the restore.
  await registeredHost(host, undefined, await api.joinToken());
  const agent = await ScriptedAgent.join(host);
  const known = await api.submit();
  const one = await agent.runs(known);
  const cookie = (await api.http.get('login')).headers['set-cookie']?.[0] ?? '';
  const token = await api.joinToken();
  const made = await api.http.post('/native/api/0.7/token', { name: 'ci', scopes: ['read'] });
  const ofProgram = { authorization: `Bearer ${made.json<{ token: string }>().token}` };
  const file = join(folder, 'older-copy');
  expect((await run('backup', [file])).code).toBe(0);

  const later = await api.submit();
  const two = await agent.runs(later);
  await host.crash();
  const { output } = await run('restore', [file, '--force', '--json']);
  const { previous } = JSON.parse(output);
  expect(await idsIn(previous)).toContain(later);
  await host.start();

  const inventory = [seen.running(one), seen.running(two)];
  await using again = await ScriptedAgent.join(host, { inventory });
  expect([...again.assignments.values()]).toEqual([one]);
  const unknown = again.all('sync').flatMap((sync) => sync.unknown ?? []);
  expect(unknown.some(({ first, last }) => first <= two.service && two.service <= last)).toBe(true);
  expect((await api.execution(known)).status).toBe('running');
  expect((await api.http.get(`execution/${later}`)).status).toBe(404);
  for (const headers of [{ cookie }, ofProgram])
    expect((await new HttpClient(() => host.url(), headers).get('execution')).status).toBe(401);
  expect((await api.http.get('login')).status).toBe(200);
  const registration = { deployment: 'test', name: 'restored', publicKey: newAgentKey().publicKey };
  expect((await askToRegister({ url: host.url() }, token, registration)).status).toBe(401);
  const next = await api.submit();
  expect(next).toBeGreaterThan(later + 1_000);
  const [three] = await again.assigned(next);
  expect(three?.service).toBeGreaterThan(two.service + 1_000);
});
