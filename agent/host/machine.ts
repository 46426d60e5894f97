/** Reads the facts of the agent's machine: its name, and the address of its default route. */
import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import type { Machine } from '../config.ts';
import { DEFAULT_SOCKET, unixHost } from '../engine/engine-address.ts';

export function readMachine(): Machine {
  return {
    hostname: hostname(),
    routedAddress: routedAddress(),
    addresses: Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
    hasWholeLoopback: process.platform === 'linux',
    dockerHost: unixHost(DEFAULT_SOCKET),
  };
}

function routedAddress(): string | undefined {
  const outward = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => ({ name, address })),
  );
  const routed = defaultRouteInterface(readRoutes());
  return (outward.find(({ name }) => name === routed) ?? outward[0])?.address;
}

/** Finds the interface of the default route in the text of Linux's /proc/net/route. */
export function defaultRouteInterface(routes: string): string | undefined {
  for (const line of routes.split('\n')) {
    const [name, destination] = line.split(/\s+/);
    if (destination === '00000000') return name;
  }
  return undefined;
}

/** Empty if the system has no such file (macOS). */
function readRoutes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}
