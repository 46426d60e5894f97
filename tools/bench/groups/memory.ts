/**
 * Measures the memory of the control plane and its agent, idle and with a long queue, and the heap of what
 * waits.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Deployment } from '../deployment.ts';
import { bounded, type Measurement } from '../figure.ts';
import { runLoad } from '../load.ts';
import { measureWaiting } from '../waiting.ts';

const SETTLE_MS = 5_000;
const QUEUED = 10_000;

export async function measureMemory(): Promise<Measurement[]> {
  await using deployment = await Deployment.start('bench-memory', 'on');
  await pause(SETTLE_MS);
  const { controlPlane, agent } = await deployment.proportionalMb();
  const idleMb = await deployment.residentMb();
  await runLoad({ ...deployment.submissions(16), requests: QUEUED });
  await pause(SETTLE_MS);
  const queuedMb = await deployment.residentMb();
  return [
    bounded('idle, one agent: resident, together', 'MB', idleMb, 200),
    bounded('idle: control plane, proportional (PSS)', 'MB', controlPlane, 120),
    bounded('idle: agent, proportional (PSS)', 'MB', agent, 80),
    bounded('growth by 10,000 queued executions', 'MB', queuedMb - idleMb, 50),
    ...measureWaiting(),
  ];
}
