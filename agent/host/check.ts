/**
 * Pre-install check: examines a machine's engine, kernel, disk and clock, and its connection to the control
 * plane. Changes nothing.
 */
import { resolve } from 'node:path';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { connectEngine } from '../engine/engine-address.ts';
import { messageOf } from '../logger.ts';
import { clockAheadMs, type Exchange } from './clock-check.ts';
import { lowText, probeDisk } from './disk.ts';
import { readMachine } from './machine.ts';

export interface Finding {
  /** A problem prevents the machine from being a host. A warning means a host with a fault. */
  level: 'ok' | 'warning' | 'problem';
  text: string;
}

/** The fields of the engine's info that the check reads. */
export interface EngineInfo {
  OSType: string;
  Driver: string;
  KernelVersion: string;
  MemoryLimit: boolean;
  CpuCfsQuota: boolean;
  PidsLimit: boolean;
  DockerRootDir: string;
}

const ENGINE_TIMEOUT_MS = 10_000;
const CONTROL_PLANE_TIMEOUT_MS = 10_000;
/** The API of Docker 20.10. */
const MIN_API_VERSION = '1.41';
/**
 * With a larger difference the control plane refuses the first proof, and the agent must correct its clock
 * (PROTOCOL.md P18).
 */
const TOLERATED_CLOCK_MS = 30_000;
const NOTABLE_CLOCK_MS = 5_000;

type Settings = Pick<Config, 'urls' | 'dockerHost' | 'dataDir' | 'minDiskBytes'>;

/**
 * Returns the findings, one per line. Throws ConfigError with all of them if this machine cannot be a host.
 */
export async function checkHost(env: NodeJS.ProcessEnv): Promise<string> {
  const findings = await checkMachine(readConfig(env, readMachine()), env.BERTH_ANY_CLOCK === '1');
  const text = findings.map(({ level, text }) => `  ${level.padEnd(8)} ${text}\n`).join('');
  if (findings.some(({ level }) => level === 'problem')) throw new ConfigError(text.trimEnd());
  return text;
}

async function checkMachine(config: Settings, anyClock: boolean): Promise<Finding[]> {
  const [engine, controlPlane] = await Promise.all([
    checkEngine(config),
    checkControlPlanes(config, anyClock),
  ]);
  return [...engine, ...controlPlane];
}

async function checkEngine({ dockerHost, dataDir, minDiskBytes }: Settings): Promise<Finding[]> {
  const engine = connectEngine(dockerHost, ENGINE_TIMEOUT_MS);
  try {
    const [{ Version, ApiVersion }, info] = await Promise.all([engine.version(), engine.info()]);
    const folders = [info.DockerRootDir, resolve(dataDir, '..')];
    return [
      { level: 'ok', text: `Docker ${Version} at ${dockerHost}` },
      ...engineFindings(ApiVersion, info),
      ...(await diskFindings(folders, minDiskBytes)),
    ];
  } catch (error) {
    const remedy =
      'Install Docker (on Debian: apt-get install docker.io), start it, or set DOCKER_HOST to its address';
    return [
      { level: 'problem', text: `No Docker engine answers at ${dockerHost}: ${messageOf(error)}. ${remedy}` },
    ];
  }
}

/** Finds what prevents the engine and its kernel from enforcing what descriptions request. */
export function engineFindings(apiVersion: string, info: EngineInfo): Finding[] {
  const findings: Finding[] = [];
  const kernel = `The kernel (${info.KernelVersion})`;
  if (info.OSType !== 'linux')
    problem(`The engine runs ${info.OSType} containers; the agent requires Linux containers`);
  if (minorOf(apiVersion) < minorOf(MIN_API_VERSION))
    problem(`The engine is older than Docker 20.10 (API ${apiVersion}): update it`);
  if (!info.MemoryLimit)
    warn(
      `${kernel} cannot limit memory: boot it with cgroup_enable=memory, or one service may use all memory`,
    );
  if (!info.CpuCfsQuota) warn(`${kernel} cannot limit CPU cores (CONFIG_CFS_BANDWIDTH)`);
  if (!info.PidsLimit) warn(`${kernel} cannot limit processes (CONFIG_CGROUP_PIDS)`);
  if (info.Driver === 'vfs')
    warn(`${kernel} or the disk has no overlay file system: each container is a full copy of its image`);
  return findings;

  function problem(text: string): void {
    findings.push({ level: 'problem', text });
  }
  function warn(text: string): void {
    findings.push({ level: 'warning', text });
  }
}

/** The major version of the API is always 1. */
const minorOf = (version: string) => Number(version.split('.')[1]);

/** The folder of a remote engine is not on this machine. In that case only the agent's folder is checked. */
async function diskFindings(folders: readonly string[], minBytes: number): Promise<Finding[]> {
  const spaces = await Promise.all(folders.map(async (folder) => [folder, await probeDisk(folder)] as const));
  const low = spaces.map(([folder, space]) => space && lowText(folder, space, minBytes, false)).find(Boolean);
  if (!low) return [];
  return [
    {
      level: 'warning',
      text: `Disk space is low: ${low}. The host takes no new services until more is free`,
    },
  ];
}

/** One of several control planes may be away, as long as another one answers. */
async function checkControlPlanes({ urls }: Settings, anyClock: boolean): Promise<Finding[]> {
  const all = await Promise.all(urls.map((url) => checkControlPlane(url, anyClock)));
  const isOneReached = all.some(([first]) => first?.level === 'ok');
  return all.flatMap((findings) =>
    isOneReached && findings[0]?.level === 'problem'
      ? findings.map(({ text }): Finding => ({ level: 'warning', text }))
      : findings,
  );
}

async function checkControlPlane(url: URL, anyClock: boolean): Promise<Finding[]> {
  const address = `${url.href.replace(/\/$/, '')}/healthz`;
  try {
    const sentMs = Date.now();
    const answer = await fetch(address, { signal: AbortSignal.timeout(CONTROL_PLANE_TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`the answer is ${answer.status}`);
    const date = answer.headers.get('date');
    const reached: Finding = { level: 'ok', text: `The control plane answers at ${url.href}` };
    if (date === null) return [reached];
    return [reached, clockFinding({ sentMs, receivedMs: Date.now(), theirMs: Date.parse(date) }, anyClock)];
  } catch (error) {
    const reason = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error);
    const remedy = 'Check BERTH_URL, and check firewalls, DNS and certificates';
    return [{ level: 'problem', text: `${address} cannot be reached: ${reason}. ${remedy}` }];
  }
}

export function clockFinding(exchange: Exchange, anyClock: boolean): Finding {
  const aheadMs = clockAheadMs(exchange);
  const offMs = Math.abs(aheadMs);
  if (offMs <= NOTABLE_CLOCK_MS) return { level: 'ok', text: "The clock agrees with the control plane's" };
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const text = `The clock is ${Math.round(offMs / 1000)} s ${side} the control plane's: set it, by NTP for example`;
  if (offMs <= TOLERATED_CLOCK_MS || anyClock) return { level: 'warning', text };
  return { level: 'problem', text: `${text}, or set BERTH_ANY_CLOCK=1 to join anyway` };
}
