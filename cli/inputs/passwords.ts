/** Passwords: typed unseen, or read from standard input. Never an argument. */
import type { Terminal } from '../terminal/terminal.ts';

export interface PasswordOptions {
  password?: boolean;
  passwordStdin?: boolean;
  currentPassword?: boolean;
}

interface Passwords {
  password?: string;
  current_password?: string;
}

/**
 * The passwords that the options request. On standard input, the current one is a line before the new one.
 */
export async function passwordsFor(
  { password = false, passwordStdin = false, currentPassword = false }: PasswordOptions,
  terminal: Terminal,
): Promise<Passwords> {
  if (passwordStdin) return readPasswords(await terminal.input(), currentPassword);
  if (!password && !currentPassword) return {};
  if (!terminal.isInteractive)
    throw new Error('Without a terminal, give the password with --password-stdin.');
  const current = currentPassword ? await terminal.ask('Current password: ', true) : undefined;
  const first = await terminal.ask('New password: ', true);
  if ((await terminal.ask('The same again: ', true)) !== first)
    throw new Error('These are two different passwords; nothing was changed.');
  return { password: first, ...(current !== undefined && { current_password: current }) };
}

function readPasswords(input: string, hasCurrent: boolean): Passwords {
  const text = input.replace(/\r?\n$/, '');
  if (!hasCurrent) return { password: text };
  const [, current, password] = /^(.*?)\r?\n(.*)$/s.exec(text) ?? [];
  if (current === undefined || password === undefined)
    throw new Error('Standard input must have two lines: the current password, and the new one.');
  return { password, current_password: current };
}

/** The user's present password, for what requires it besides the session. */
export async function ownPassword(terminal: Terminal, fromInput = false): Promise<string> {
  if (fromInput) return (await terminal.input()).replace(/\r?\n$/, '');
  if (terminal.isInteractive) return terminal.ask('Your password: ', true);
  throw new Error('Without a terminal, give your password with --password-stdin.');
}
