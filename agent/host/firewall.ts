/**
 * Firewall for containers on Berth's bridges: keeps them from the metadata services of clouds and from the
 * services of the host itself. Never changes rules or chains of others, except for one jump in two chains.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { networkDevices } from '../engine/networks/host-routes.ts';
import { messageOf } from '../logger.ts';
import { foreignEnv, systemPath } from '../system-programs.ts';

export interface Firewall {
  /** Makes the rules, or renews them. Throws with a reason and a remedy for people. */
  apply(): Promise<void>;
  /**
   * Makes the rules if they are not in force: another agent of this machine removes them when it finds no
   * bridge. Never throws, since the agent notices what is wrong when it renews the rules.
   */
  ensure(): Promise<void>;
  /** Removes the rules unless a bridge of Berth is left, of any deployment. Never throws. */
  removeUnused(): Promise<void>;
}

export interface FirewallWatchOptions {
  firewall: Pick<Firewall, 'apply'>;
  /** Called after each attempt. Undefined if the rules are in force. */
  found(problem: string | undefined): void;
  everyMs: number;
}

/** `iptables` may be either of the others. The engine's chain shows which of them the engine uses. */
const PROGRAMS = ['iptables', 'iptables-nft', 'iptables-legacy'];
/** Docker has this chain for rules of others, and evaluates it before its own. */
const DOCKER_CHAIN = 'DOCKER-USER';
/** Other programs hold the lock of iptables for a moment. */
const LOCK = ['-w', '5'];
const BRIDGES = ['-i', 'berth+'];

/** Link-local addresses, and the two that clouds use besides. */
const METADATA = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32'];

const JUMPS = [
  { from: DOCKER_CHAIN, to: 'BERTH-FORWARD' },
  { from: 'INPUT', to: 'BERTH-INPUT' },
] as const;
type Jump = (typeof JUMPS)[number];
const APPLY_ATTEMPTS = 5;

/** Applies the rules at once, then periodically, since a restarted firewall discards them. */
export async function watchFirewall(options: FirewallWatchOptions): Promise<() => void> {
  const { firewall, found, everyMs } = options;
  let isApplying = false;
  let ended = false;
  const apply = async () => {
    if (isApplying) return;
    isApplying = true;
    const problem = await firewall.apply().then(() => undefined, messageOf);
    isApplying = false;
    if (ended) return;
    found(
      problem && `containers reach this host's own services and the metadata service of a cloud: ${problem}`,
    );
  };
  await apply();
  const timer = setInterval(() => void apply(), everyMs);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

/**
 * The firewall of this machine's network. `local`: the engine's networks are on this machine. `devices` lists
 * the network devices.
 */
export function hostFirewall(local: boolean, devices = networkDevices): Firewall {
  const hasBridge = async () => (await devices()).some((name) => name.startsWith('berth'));
  return {
    apply: () => applyRules(local),
    async ensure() {
      if (!local) return;
      const program = await findProgram().catch(() => undefined);
      if (program === undefined) return;
      if ((await missingJumps(program)).length > 0) await applyRules(local).catch(() => {});
    },
    async removeUnused() {
      if (!local || (await hasBridge())) return;
      const program = await findProgram().catch(() => undefined);
      if (program === undefined) return;
      for (const jump of JUMPS) await restore(program, removalOf(jump)).catch(() => {});
      // Another agent may have made a bridge meanwhile, and found the rules in force.
      if (await hasBridge()) await applyRules(local).catch(() => {});
    },
  };
}

async function applyRules(local: boolean): Promise<void> {
  if (!local) throw new Error(`the engine is on another machine: set the firewall there, ${OR_OFF}`);
  const program = await findProgram();
  const ports = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
  let missing = await missingJumps(program);
  // Another agent may remove the rules at the same time.
  for (let attempt = 1; ; attempt += 1) {
    await restore(program, firewallRules(ports, missing));
    missing = await missingJumps(program);
    if (missing.length === 0) return;
    if (attempt === APPLY_ATTEMPTS) throw new Error('another program removes the rules of the firewall');
  }
}

async function missingJumps(program: string): Promise<Jump[]> {
  const areThere = await Promise.all(JUMPS.map((jump) => hasJump(program, jump)));
  return JUMPS.filter((_, at) => !areThere[at]);
}

/** Applies rules in one step. They are added to those that exist. */
const restore = (program: string, rules: string): Promise<void> =>
  run(`${program}-restore`, [...LOCK, '--noflush'], rules);

const hasJump = (program: string, { from, to }: Jump): Promise<boolean> =>
  run(program, [...LOCK, '-C', from, ...BRIDGES, '-j', to]).then(
    () => true,
    () => false,
  );

const OR_OFF = 'or put firewall into BERTH_AGENT_WITHOUT';

/**
 * The chains, and the jumps to them that are missing, in the format of `iptables-restore`. `localPorts` is
 * the range from which the engine takes host ports; its proxy serves the published ones there.
 */
export function firewallRules(localPorts: string, missing: readonly Jump[]): string {
  const range = localPorts.trim().split(/\s+/).join(':');
  const each = (make: (protocol: string) => string) => ['udp', 'tcp'].map(make);
  return [
    '*filter',
    ':BERTH-FORWARD - [0:0]',
    ':BERTH-INPUT - [0:0]',
    ...each((protocol) => `-A BERTH-FORWARD -p ${protocol} --dport 53 -j RETURN`),
    ...METADATA.map((addresses) => `-A BERTH-FORWARD -d ${addresses} -j REJECT`),
    '-A BERTH-INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN',
    ...each((protocol) => `-A BERTH-INPUT -p ${protocol} --dport 53 -j RETURN`),
    ...each((protocol) => `-A BERTH-INPUT -p ${protocol} --dport ${range} -j RETURN`),
    '-A BERTH-INPUT -j REJECT',
    ...missing.map(({ from, to }) => `-I ${from} 1 ${BRIDGES.join(' ')} -j ${to}`),
    'COMMIT',
    '',
  ].join('\n');
}

/** In one step: a chain without its rules would let everything pass while a jump leads to it. */
const removalOf = ({ from, to }: Jump): string =>
  ['*filter', `-D ${from} ${BRIDGES.join(' ')} -j ${to}`, `-F ${to}`, `-X ${to}`, 'COMMIT', ''].join('\n');

/** The program whose rules the engine uses. */
async function findProgram(): Promise<string> {
  const reasons: string[] = [];
  for (const program of PROGRAMS) {
    try {
      await run(program, [...LOCK, '-n', '-L', DOCKER_CHAIN]);
      return program;
    } catch (error) {
      reasons.push(messageOf(error));
    }
  }
  const [first = ''] = reasons;
  throw new Error(
    `${first}. The agent needs the program iptables, the capability NET_ADMIN and an engine with the chain ` +
      `${DOCKER_CHAIN}: provide them, ${OR_OFF}`,
  );
}

/** Throws with the first line of the program's complaint. */
async function run(program: string, args: readonly string[], input = ''): Promise<void> {
  const env = { ...foreignEnv(process.env), PATH: systemPath() };
  const child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  // The program may end before it has read its input.
  child.stdin.on('error', () => {}).end(input);
  const [code, complaint] = await Promise.all([ended, text(child.stderr)]);
  if (code !== 0) throw new Error(complaint.trim().split('\n')[0] || `${program} ended with ${code}`);
}
