/**
 * Contexts: the control planes that a person or program uses, with the session or token at each, in a file of
 * mode 0600.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Berth, type Credentials } from '../client/berth.ts';
import { whileLocked } from './machine/lock-file.ts';

export interface Context {
  url: string;
  /** The user that has logged in. */
  username?: string;
  session?: string;
  /** A personal access token, in place of the session. */
  token?: string;
}

export interface Contexts {
  /** Name of the context in use; null if there is none. */
  current: string | null;
  contexts: Record<string, Context>;
}

interface Change<T> {
  left: Contexts;
  result?: T;
}

const DEFAULT_URL = 'http://127.0.0.1:5001';

export class ContextsFile {
  readonly path: string;

  constructor({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv) {
    this.path = join(XDG_CONFIG_HOME || join(HOME || homedir(), '.config'), 'berth', 'contexts.json');
  }

  async read(): Promise<Contexts> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, contexts: {} };
      throw error;
    }
    return (
      contextsIn(text) ?? Promise.reject(new Error(`${this.path} is damaged; remove it and log in again.`))
    );
  }

  /** Replaces what the file has by what is `left`, one command after the other. Resolves to the result. */
  async change<T = void>(change: (contexts: Contexts) => Change<T>): Promise<T> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    return whileLocked(`${this.path}.lock`, async () => {
      const { left, result } = change(await this.read());
      await this.#write(left);
      return result as T;
    });
  }

  /** Replaces the file as a whole, so that a crash leaves the old one. */
  async #write(contexts: Contexts): Promise<void> {
    const draft = `${this.path}.${crypto.randomUUID()}`;
    await writeFile(draft, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
    await rename(draft, this.path);
  }
}

/** Undefined if the text is not what `write` has written. */
function contextsIn(text: string): Contexts | undefined {
  try {
    const { current, contexts } = JSON.parse(text) as Contexts;
    const isWhole = Object.values(contexts).every(({ url }) => URL.canParse(url));
    if (!isWhole || (current !== null && !Object.hasOwn(contexts, current))) return undefined;
    return { current, contexts };
  } catch {
    return undefined;
  }
}

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host, perhaps with a port, is this machine, where a control plane has no TLS. */
function isLoopback(text: string): boolean {
  const url = `http://${text}`;
  return URL.canParse(url) && LOOPBACK.test(new URL(url).hostname);
}

/** The URL of a control plane, without what follows the host. Throws if it is none. */
export function originOf(text: string): string {
  const full = /^[a-z]+:\/\//i.test(text) ? text : `${isLoopback(text) ? 'http' : 'https'}://${text}`;
  if (URL.canParse(full)) {
    const { protocol, origin } = new URL(full);
    if (['http:', 'https:'].includes(protocol)) return origin;
  }
  throw new Error(
    `${text} is not the address of a control plane; give one such as https://berth.example.org.`,
  );
}

/** What is used if no URL is given: the current context, or a control plane on this machine. */
export const defaultUrl = ({ current, contexts }: Contexts): string =>
  (current !== null && contexts[current]?.url) || DEFAULT_URL;

/** Undefined after a logout. */
export function credentialsIn({ session, token }: Context): Credentials | undefined {
  if (token !== undefined) return { token };
  return session === undefined ? undefined : { session };
}

/**
 * The client for the commands. `BERTH_URL` and `BERTH_TOKEN` win over the current context. `signal` ends all
 * requests of the client.
 */
export async function connect(env: NodeJS.ProcessEnv, signal?: AbortSignal): Promise<Berth> {
  const { BERTH_URL, BERTH_TOKEN } = env;
  const { current, contexts } = await new ContextsFile(env).read();
  const url = BERTH_URL === undefined ? current !== null && contexts[current]?.url : originOf(BERTH_URL);
  if (!url) throw new Error(noContextWords(contexts));
  if (BERTH_TOKEN !== undefined) return new Berth(url, { token: BERTH_TOKEN }, signal);
  // The current context comes first, since several may be of one control plane.
  const all = [...(current === null ? [] : [contexts[current]]), ...Object.values(contexts)];
  const known = all.find((one) => one?.url === url && credentialsIn(one));
  return new Berth(url, known && credentialsIn(known), signal);
}

function noContextWords(contexts: Contexts['contexts']): string {
  const names = Object.keys(contexts);
  return names.length === 0
    ? 'There is no control plane yet: berth login URL, or set BERTH_URL.'
    : `No context is chosen: berth context use CONTEXT (there is ${names.join(', ')}), or berth login URL.`;
}

/** What to do after credentials were refused: the ones that `connect` has chosen, if there were any. */
export async function refusedWords(reason: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const { BERTH_URL, BERTH_TOKEN } = env;
  const { current, contexts } = await new ContextsFile(env).read();
  const url = BERTH_URL === undefined ? current !== null && contexts[current]?.url : originOf(BERTH_URL);
  if (BERTH_TOKEN !== undefined)
    return [
      `${url} refuses the token in BERTH_TOKEN: ${reason}`,
      'Set it to a token that is valid (berth token create), or unset it to use your login.',
    ];
  const isKnown = Object.values(contexts).some((one) => one.url === url && credentialsIn(one));
  return [
    `${isKnown ? `Your login at ${url} has ended` : `You are not logged in at ${url}`}.`,
    `Log in: berth login ${url}`,
  ];
}
