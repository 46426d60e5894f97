/** Opens URLs with the program that the desktop has for them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
};

/** The desktop's opener; undefined if there is no desktop. */
export function openerOf(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): readonly [string, ...string[]] | undefined {
  const hasDisplay = Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  return OPENERS[platform] ?? (hasDisplay ? ['xdg-open'] : undefined);
}

/** Starts the opener, and does not wait for its end. Throws if it can't be started. */
export async function openUrl(
  [program, ...args]: readonly [string, ...string[]],
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const child = spawn(program, [...args, url], { env, detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  child.unref();
}
