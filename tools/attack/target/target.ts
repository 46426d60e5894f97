/** Target: the Berth that is attacked, with the accounts of the attacks and what they leave behind. */
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Skipped } from '../attack.ts';
import type { Options } from '../options.ts';
import { Cleanup } from './cleanup.ts';
import { dial, type Reply, type Request, send } from './http.ts';

export interface Account {
  name: string;
  password: string;
  /** The session cookie, as a request header has it. */
  cookie: string;
  /** Undefined in variants whose login does not give it. */
  id: number | undefined;
  roleId: number | undefined;
  /** The name of the role, which only group A gives. */
  role: string | undefined;
}

/** Users of the attacks. `victim` and `guest` are made by the administrator. */
export interface Accounts {
  admin?: Account;
  attacker?: Account;
  victim?: Account;
  /** A user who has never logged in. */
  guest?: Account;
  /** Set if the attacker's role reaches other users' executions, or the configuration. */
  powerful?: string;
}

const CLEANUP_MS = 10_000;
/** Between two requests that wait for something. */
const POLL_MS = 150;

export class Target {
  readonly options: Options;
  accounts: Accounts = {};
  /** What the current attack has to undo. */
  readonly ofAttack = new Cleanup();
  /** What is to undo at the end of all attacks. */
  readonly ofAll = new Cleanup();
  /** Aborts the requests of the current attack. */
  signal: AbortSignal;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(options: Options, signal: AbortSignal) {
    this.options = options;
    this.signal = signal;
  }

  get url(): URL {
    return this.options.url;
  }

  account(role: 'admin' | 'attacker' | 'victim' | 'guest'): Account {
    const account = this.accounts[role];
    if (account) return account;
    throw new Skipped(role === 'attacker' ? 'needs --user or --admin' : 'needs --admin');
  }

  /** The attacker, whose role gives no power over others. */
  ordinaryAttacker(): Account {
    const attacker = this.account('attacker');
    if (this.accounts.powerful !== undefined) throw new Skipped(this.accounts.powerful);
    return attacker;
  }

  send(request: Omit<Request, 'signal'>): Promise<Reply> {
    return send(this.url, { ...request, signal: this.signal });
  }

  /** Sends a request with the cookie of an account. */
  sendAs(account: Account, method: string, path: string, value?: unknown): Promise<Reply> {
    const body = value === undefined ? undefined : JSON.stringify(value);
    return this.send({ method, path, body, headers: { cookie: account.cookie } });
  }

  /** Sends such a request, and resolves to the JSON of its answer. Throws unless the status is 200. */
  async jsonAs<T>(account: Account, method: string, path: string, value?: unknown): Promise<T> {
    const { status, text } = await this.sendAs(account, method, path, value);
    if (status !== 200) throw new Error(`${method} ${path} answered ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** `sendAs` at the end of an attack, also after it was aborted. Throws unless the status is expected. */
  async undo(account: Account, method: string, path: string, expected: readonly number[]): Promise<Reply> {
    const headers = { cookie: account.cookie };
    const signal = AbortSignal.timeout(CLEANUP_MS);
    const reply = await send(this.url, { method, path, headers, signal });
    if (!expected.includes(reply.status))
      throw new Error(`${method} ${path} answered ${reply.status} at the clean-up`);
    return reply;
  }

  /** Calls `probe` until it returns something else than undefined. The limit of the attack ends it. */
  async until<T>(probe: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const found = await probe();
      if (found !== undefined) return found;
      await this.pause(POLL_MS);
    }
  }

  pause(ms: number): Promise<void> {
    return setTimeout(ms, undefined, { signal: this.signal });
  }

  /** Opens a connection that is closed when the attack ends. Its errors are ignored. */
  async dial(): Promise<Socket> {
    const socket = await dial(this.url, this.signal);
    socket.on('error', () => {});
    this.ofAttack.add(async () => void socket.destroy());
    return socket;
  }

  /** What several attacks need, made by the first of them. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const kept = (this.#kept.get(name) as Promise<T> | undefined) ?? make();
    this.#kept.set(name, kept);
    return kept;
  }
}
