/** The IPv4 routes and the network devices of this machine, as Linux lists them in /proc/net. */
import { readFile } from 'node:fs/promises';
import type { Subnet } from './subnets.ts';

/** Shorter prefixes are default routes, for example the two halves of a VPN's. */
const MIN_BITS = 8;

export interface Route extends Subnet {
  device: string;
}

/** Empty on a machine without /proc/net. */
export async function hostRoutes(): Promise<Route[]> {
  return parseRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''));
}

export async function networkDevices(): Promise<string[]> {
  const text = await readFile('/proc/net/dev', 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []);
}

/** Parses the text of /proc/net/route, whose addresses are hexadecimal with the lowest byte first. */
export function parseRoutes(text: string): Route[] {
  const [, ...lines] = text.trimEnd().split('\n');
  return lines.flatMap((line) => {
    const fields = line.split(/\s+/);
    const first = addressOf(fields[1] ?? '');
    const mask = addressOf(fields[7] ?? '');
    const bits = 32 - Math.log2(2 ** 32 - mask);
    return bits >= MIN_BITS ? [{ device: fields[0] ?? '', first, bits }] : [];
  });
}

const addressOf = (hex: string): number =>
  [6, 4, 2, 0].reduce((sum, at) => sum * 256 + Number.parseInt(hex.slice(at, at + 2), 16), 0);
