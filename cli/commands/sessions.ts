/** `berth login`, `logout` and `context`. */

import { createHash, randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { Berth } from '../../client/berth.ts';
import { type Contexts, ContextsFile, credentialsIn, defaultUrl, originOf } from '../contexts.ts';
import { openerOf, openUrl } from '../terminal/desktop.ts';
import { jsonOf } from '../terminal/list.ts';
import { listenForCode } from '../terminal/loopback.ts';
import { onOneLine, table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface LoginOptions {
  user?: string;
  passwordStdin?: boolean;
  token?: boolean;
  browser?: boolean;
  name?: string;
}

export function addSessionCommands(program: Command, terminal: Terminal): void {
  const file = new ContextsFile(terminal.env);
  program
    .command('login [URL]')
    .description('Log in to a control plane, and use it from now on')
    .option('-u, --user <name>', 'the user name')
    .option('--password-stdin', 'read the password from standard input')
    .option('--token', 'log in with a personal access token, from standard input without a terminal')
    .option('--browser', 'log in on a page of the control plane, in a browser on this machine')
    .option('--name <context>', 'the name of the context; by default the host of the URL')
    .action((url: string | undefined, options: LoginOptions) => logIn(file, terminal, url, options));
  program
    .command('logout')
    .description('End the session at the current control plane')
    .action(() => logOut(file, terminal));
  const context = program
    .command('context')
    .alias('contexts')
    .description('The control planes that you have logged in to');
  context
    .command('ls')
    .description('List the contexts')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'names only')
    .action((options: { json?: boolean; quiet?: boolean }) => list(file, terminal, options));
  context
    .command('use <context>')
    .description('Use this context from now on')
    .action((name: string) => use(file, name));
  context
    .command('rm <context>')
    .description('Forget a context')
    .action((name: string) => remove(file, terminal, name));
}

async function logIn(
  file: ContextsFile,
  terminal: Terminal,
  given: string | undefined,
  { user, passwordStdin = false, token = false, browser = false, name }: LoginOptions,
): Promise<void> {
  const known = await file.read();
  const url = originOf(given ?? terminal.env.BERTH_URL ?? defaultUrl(known));
  const context = name ?? new URL(url).host;
  const { username, ...credentials } = await credentialsBy(
    token ? 'token' : browser ? 'browser' : 'password',
    terminal,
    url,
    { passwordStdin, ...(user !== undefined && { user }) },
  );
  await file.change(({ contexts }) => ({
    left: { current: context, contexts: { ...contexts, [context]: { url, username, ...credentials } } },
  }));
  terminal.say(`Logged in to ${url} as ${onOneLine(username)}. The context is ${context}.`);
}

function credentialsBy(
  way: 'token' | 'browser' | 'password',
  terminal: Terminal,
  url: string,
  { user, passwordStdin = false }: LoginOptions,
): Promise<{ username: string; token?: string; session?: string }> {
  if (way === 'token') return byToken(terminal, url);
  return way === 'browser' ? byBrowser(terminal, url) : byPassword(terminal, url, user, passwordStdin);
}

const MAX_WAIT_MS = 600_000;

/** The page asks the user, and sends a code to this program, which only this program can redeem. */
async function byBrowser(terminal: Terminal, url: string): Promise<{ username: string; session: string }> {
  const signal = AbortSignal.any([terminal.interrupted(), AbortSignal.timeout(MAX_WAIT_MS)]);
  const { port, code } = await listenForCode(signal);
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const page = `${url}/account/command-line?port=${port}&challenge=${challenge}`;
  terminal.say(`Allow the login on this page, in a browser on this machine:\n${page}`);
  const opener = openerOf(terminal.env);
  // The page can be opened by hand.
  if (terminal.isInteractive && opener) await openUrl(opener, page, terminal.env).catch(() => {});
  const session = await new Berth(url).logInByCode(await code, verifier);
  const { username } = await new Berth(url, { session }).user();
  return { username, session };
}

async function byToken(terminal: Terminal, url: string): Promise<{ username: string; token: string }> {
  const typed = terminal.isInteractive ? await terminal.ask('Token: ', true) : await terminal.input();
  const token = typed.trim();
  const { username } = await new Berth(url, { token }).user();
  return { username, token };
}

async function byPassword(
  terminal: Terminal,
  url: string,
  user: string | undefined,
  passwordStdin: boolean,
): Promise<{ username: string; session: string }> {
  if (!terminal.isInteractive && (user === undefined || !passwordStdin))
    throw new Error('Without a terminal, give --user NAME and the password with --password-stdin.');
  const username = user ?? (await terminal.ask(`User name at ${url}: `));
  const password = passwordStdin
    ? (await terminal.input()).replace(/\r?\n$/, '')
    : await terminal.ask('Password: ', true);
  const { session } = await new Berth(url, { username, password }).logIn();
  return { username, session };
}

async function logOut(file: ContextsFile, terminal: Terminal): Promise<void> {
  const { url, credentials } = await file.change(({ current, contexts }) => {
    const context = current === null ? undefined : contexts[current];
    const credentials = context && credentialsIn(context);
    if (current === null || !credentials) throw new Error('You are not logged in.');
    const { session, token, ...rest } = context;
    const left = { current, contexts: { ...contexts, [current]: rest } };
    return { left, result: { url: context.url, credentials } };
  });
  if ('token' in credentials)
    return terminal.say('The token is forgotten here, and still valid: berth token rm revokes it.');
  await new Berth(url, credentials).logOut();
  terminal.say(`Logged out of ${url}.`);
}

async function list(
  file: ContextsFile,
  terminal: Terminal,
  { json = false, quiet = false }: { json?: boolean; quiet?: boolean },
): Promise<void> {
  const { current, contexts } = await file.read();
  const all = Object.entries(contexts).map(([name, context]) => ({
    name,
    url: context.url,
    user: context.username ?? null,
    current: name === current,
    logged_in: credentialsIn(context) !== undefined,
  }));
  if (json) return terminal.out(jsonOf(all));
  if (quiet) return terminal.out(all.map(({ name }) => `${name}\n`).join(''));
  const rows = all.map((one) => [one.current ? '*' : '', one.name, one.user ?? '', one.url]);
  await terminal.out(table(['', 'CONTEXT', 'USER', 'URL'], rows, terminal.columns));
}

async function use(file: ContextsFile, name: string): Promise<void> {
  await file.change(({ contexts }) => {
    assertKnown(name, contexts);
    return { left: { current: name, contexts } };
  });
}

async function remove(file: ContextsFile, terminal: Terminal, name: string): Promise<void> {
  const wasCurrent = await file.change(({ current, contexts }) => {
    assertKnown(name, contexts);
    const { [name]: _, ...rest } = contexts;
    const left = { current: current === name ? null : current, contexts: rest };
    return { left, result: current === name };
  });
  if (wasCurrent)
    terminal.say(`${name} was the current context. berth context use CONTEXT chooses another one.`);
}

function assertKnown(name: string, contexts: Contexts['contexts']): void {
  if (!Object.hasOwn(contexts, name)) throw unknownContext(name, Object.keys(contexts));
}

const unknownContext = (name: string, known: string[]): Error =>
  new Error(`There is no context ${name}; there is ${known.join(', ') || 'none: berth login URL'}.`);
