/** Installs, updates and removes the control plane as a service of systemd. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeOfPackage, programAt } from './programs.ts';
import { PLACES, UNIT_NAME, USER, unitText } from './server-unit.ts';
import { settingsIn, settingsText } from './settings-file.ts';
import { assertServiceMachine, hasUser, run, runIn } from './system.ts';

type Say = (line: string) => void;

const START_MS = 60_000;
const POLL_MS = 200;
const LOG = 'journalctl -u berth-server';
const LOCAL: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** Installs this package, with the settings of `env`. A run that fails before the start changes nothing. */
export async function installServer({ env, say }: { env: NodeJS.ProcessEnv; say: Say }): Promise<void> {
  assertServiceMachine();
  const { folder, node } = await ownPackage();
  const isNew = !existsSync(PLACES.data);
  const isUpdate = existsSync(PLACES.unit);
  const settings = settingsText(await textOf(PLACES.settings), env);
  const version = await assertUsable(folder, node, settings);
  try {
    await draft(folder, settings, unitText(relative(folder, node)));
    if (!hasUser(USER)) await addUser();
  } catch (error) {
    await removeDrafts();
    throw error;
  }
  await putInPlace();
  await run('systemctl', 'daemon-reload');
  await run('systemctl', 'enable', '--quiet', UNIT_NAME);
  await run('systemctl', 'restart', UNIT_NAME);
  const url = await untilHealthy(settingsIn(settings));
  say(`Berth ${version} is ${isUpdate ? 'updated' : 'installed'} and listens on ${url}. Its log: ${LOG}`);
  if (isNew && !settingsIn(settings).BERTH_ADMIN_PASSWORD)
    say(
      `If its database is new, the password of the user admin is in its log only: ${LOG} | grep 'First start'`,
    );
}

/** `purge`: also its data, its settings and its user. */
export async function uninstallServer({ purge, say }: { purge: boolean; say: Say }): Promise<void> {
  assertServiceMachine();
  const { program, settings, unit, data, cache } = PLACES;
  if (![program, unit, ...(purge ? [data, settings] : [])].some((path) => existsSync(path)))
    return say('No control plane is installed here.');
  if (existsSync(unit)) await run('systemctl', 'disable', '--quiet', '--now', UNIT_NAME);
  for (const path of [unit, program, cache]) await rm(path, { recursive: true, force: true });
  await run('systemctl', 'daemon-reload');
  if (purge) {
    for (const path of [data, settings]) await rm(path, { recursive: true, force: true });
    if (hasUser(USER)) await run('userdel', USER);
  }
  await removeEmpty();
  say(
    purge
      ? 'The control plane is removed, with its data and settings.'
      : `The control plane is removed. Its data stays in ${data}, and its settings in ${settings}: ` +
          'berth server install uses them again, and --uninstall --purge removes them.',
  );
}

/** The package with all packages that it needs, to be copied as it is. */
async function ownPackage(): Promise<{ folder: string; node: string }> {
  const { file, folder } = programAt('control-plane/node');
  const way = 'Install the package: npm run pack, then npm install --global on this machine.';
  if (!file.endsWith('.js')) throw new Error(`This is a checkout, and not the package. ${way}`);
  const { dependencies } = JSON.parse(await textOf(join(folder, 'package.json'))) as {
    dependencies: Record<string, string>;
  };
  const missing = Object.keys(dependencies).find((name) => !existsSync(join(folder, 'node_modules', name)));
  if (missing) throw new Error(`The package ${missing} is not in ${folder}/node_modules. ${way}`);
  const node = nodeOfPackage();
  if (!node) throw new Error('The package was installed without its Node: npm install it without --omit.');
  return { folder, node };
}

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });

const CHECK = `
  import { pathToFileURL } from 'node:url';
  const folder = process.argv[1];
  const load = (name) => import(pathToFileURL(folder + '/control-plane/' + name));
  const [{ readNodeConfig }, { VERSION }] = await Promise.all([load('config.js'), load('version.js')]);
  try {
    readNodeConfig(process.env);
    process.stdout.write(JSON.stringify({ version: VERSION }));
  } catch ({ message }) {
    process.stdout.write(JSON.stringify({ message }));
  }`;

/** Lets the new control plane check its settings. Returns its version. */
async function assertUsable(folder: string, node: string, settings: string): Promise<string> {
  // Not as arguments, which all users can read.
  const env = settingsIn(settings);
  const checked = await runIn(env, node, '--input-type=module', '--eval', CHECK, folder);
  const { version, message } = JSON.parse(checked) as Record<string, string>;
  if (version === undefined) throw new Error(`${message} Nothing was changed.`);
  return version;
}

const draftOf = (path: string): string => `${path}.new`;
const DRAFTED = [PLACES.program, PLACES.settings, PLACES.unit];

async function draft(folder: string, settings: string, unit: string): Promise<void> {
  await removeDrafts();
  process.umask(0o022);
  for (const path of DRAFTED) await mkdir(dirname(path), { recursive: true });
  await run('cp', '-R', folder, draftOf(PLACES.program));
  // npm may have installed it for its own user only.
  await run('chmod', '-R', 'u+rwX,go+rX,go-w', draftOf(PLACES.program));
  await writeFile(draftOf(PLACES.settings), settings, { mode: 0o600 });
  await writeFile(draftOf(PLACES.unit), unit);
}

async function removeDrafts(): Promise<void> {
  for (const path of DRAFTED) await rm(draftOf(path), { recursive: true, force: true });
  await removeEmpty();
}

/** The folders that the agent of this machine may use as well. */
async function removeEmpty(): Promise<void> {
  for (const path of [PLACES.program, PLACES.settings]) await rmdir(dirname(path)).catch(() => {});
}

async function putInPlace(): Promise<void> {
  const old = `${PLACES.program}.old`;
  await rm(old, { recursive: true, force: true });
  if (existsSync(PLACES.program)) await rename(PLACES.program, old);
  for (const path of DRAFTED) await rename(draftOf(path), path);
  await rm(old, { recursive: true, force: true });
}

const addUser = (): Promise<string> => {
  const home = ['--no-create-home', '--home-dir', PLACES.data, '--shell', '/usr/sbin/nologin'];
  return run('useradd', '--system', '--user-group', ...home, USER);
};

/** Resolves to its address once it answers there. Throws if it ends, or does not answer in time. */
async function untilHealthy(settings: Record<string, string>): Promise<string> {
  const { BERTH_HOST: host = '127.0.0.1', BERTH_PORT: port = '5001' } = settings;
  const url = `http://${LOCAL[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
  const untilMs = performance.now() + START_MS;
  for (;;) {
    const state = await run('systemctl', 'show', '--property=NRestarts,SubState', UNIT_NAME);
    if (/NRestarts=[1-9]|SubState=auto-restart/.test(state) || performance.now() > untilMs)
      throw new Error(`The control plane is installed, but it does not start. See: ${LOG}`);
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => undefined,
    );
    if (answer?.ok) return url;
    await pause(POLL_MS);
  }
}
