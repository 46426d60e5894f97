/**
 * Measures reads of one address while another address holds 20,000 connections with half a head each, and
 * opens each one again some seconds after it was closed.
 */
import { startCommand } from '../../../test/support/hosts/process.ts';
import { Deployment } from '../deployment.ts';
import { atMost, type Measurement } from '../figure.ts';
import { type Load, runLoad } from '../load.ts';

const CONNECTIONS = 20_000;
const CLIENTS = 8;
const REQUESTS = 2_000;
const MAX_OPEN_MS = 120_000;

/** What the attacker's program reads. */
export interface HalfOpenLoad {
  port: number;
  address: string;
  connections: number;
}

export async function measureConnections(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-connections', 'off');
  const port = Number(new URL(deployment.url).port);
  const load: Load = {
    port,
    method: 'GET',
    path: '/api/0.7/info',
    clients: CLIENTS,
    pauseMs: 10,
    requests: REQUESTS,
  };
  const attack: HalfOpenLoad = { port, address: '127.0.0.2', connections: CONNECTIONS };
  try {
    await runLoad(load);
    const before = await runLoad(load);
    // Raises the limit of open files, which is 1,024 in many shells.
    const command = `ulimit -n "$(ulimit -Hn)"; exec "$0" tools/bench/programs/half-open-program.ts "$1"`;
    const attacker = startCommand(['sh', '-c', command, process.execPath, JSON.stringify(attack)]);
    try {
      await attacker.waitFor(/^open$/m, MAX_OPEN_MS);
      const during = await runLoad(load);
      const name = `p99 of GET info, ${CONNECTIONS} half-open connections of another address`;
      return [{ name, unit: 'ms', figure: during.p99Ms, limit: before.p99Ms, goal: atMost(250, 'figure') }];
    } finally {
      await attacker.kill();
    }
  } finally {
    await deployment.stop();
  }
}
