/**
 * Registries that an agent may pull from (P139). By default these are the public ones: the engine's requests
 * must not become a user's way to services inside the operator's network.
 */
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { EngineError } from '../engine.ts';
import { HUB, registryOf } from './registry-auth.ts';

/** Stands for every registry on public addresses, in `BERTH_AGENT_REGISTRIES`. */
export const PUBLIC = 'public';

/** Finds the addresses of a host name as the engine on this machine finds them. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Networks that the internet does not reach: loopback, private, link-local, shared and reserved ones. */
const INSIDE_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const INSIDE_V6: readonly (readonly [string, number])[] = [
  ['::', 96],
  // NAT64 of the operator's own, in a form that the operator chooses (RFC 8215).
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];
/** The prefix of NAT64, which reaches IPv4 addresses from a network of IPv6 only. */
const NAT64 = '64:ff9b::';

/** Throws EngineError (permanent) if the agent's settings do not allow a pull of `image`. */
export async function assertAllowed(
  image: string,
  registries: readonly string[],
  resolve: Resolve = addressesOf,
): Promise<void> {
  const name = registryOf(image);
  const registry = name === HUB ? 'docker.io' : name.toLowerCase();
  if (registries.includes(registry)) return;
  if (!registries.includes(PUBLIC)) {
    throw refusal(image, `this host pulls only from ${registries.join(', ')}`, registry);
  }
  if (name !== HUB && (await resolve(hostOf(registry))).some(isInside))
    throw refusal(image, `the registry ${registry} is not on a public address`, registry);
}

const refusal = (image: string, reason: string, registry: string): EngineError =>
  new EngineError(
    'permanent',
    `pulling ${image}: ${reason} (an operator allows a registry by BERTH_AGENT_REGISTRIES=...,${registry})`,
  );

/** Without the port and the brackets of an IPv6 address. */
const hostOf = (registry: string): string => registry.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

/** A name without an address is left to the engine, which then reports the problem in its own words. */
const addressesOf: Resolve = async (host) => {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
};

/** True for an address that is not public, or that belongs to this machine. */
export function isInside(address: string): boolean {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  return inside.check(address, family) || isOwn(address);
}

const inside = new BlockList();
for (const [network, prefix] of INSIDE_V4) {
  inside.addSubnet(network, prefix, 'ipv4');
  inside.addSubnet(`${NAT64}${network}`, 96 + prefix, 'ipv6');
  inside.addSubnet(sixToFour(network), 16 + prefix, 'ipv6');
}
for (const [network, prefix] of INSIDE_V6) inside.addSubnet(network, prefix, 'ipv6');

/** The network of IPv6 that routers of 6to4 take to this IPv4 address. */
function sixToFour(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `2002:${(256 * a + b).toString(16)}:${(256 * c + d).toString(16)}::`;
}

const isOwn = (address: string): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address));
