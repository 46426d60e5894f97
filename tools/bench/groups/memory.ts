/**
 * Measures resident memory of the control plane and its agent, idle and with a long queue, and the heap of
 * what waits.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { queuedApplication } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atMost, type Measurement } from '../figure.ts';
import { runLoad } from '../load.ts';
import { measureWaiting } from '../waiting.ts';

const SETTLE_MS = 5_000;
const QUEUED = 10_000;

export async function measureMemory(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-memory', 'on');
  try {
    await pause(SETTLE_MS);
    const idleMb = await deployment.residentMb();
    await runLoad({
      port: Number(new URL(deployment.url).port),
      method: 'POST',
      path: '/api/0.7/execution',
      headers: { cookie: deployment.cookie },
      body: JSON.stringify({ name: 'bench', application: queuedApplication() }),
      clients: 16,
      requests: QUEUED,
    });
    await pause(SETTLE_MS);
    const queuedMb = await deployment.residentMb();
    return [
      { name: 'idle, one agent', unit: 'MB', figure: idleMb, goal: atMost(200, 'figure') },
      {
        name: 'growth by 10,000 queued executions',
        unit: 'MB',
        figure: queuedMb - idleMb,
        goal: atMost(50, 'figure'),
      },
      ...measureWaiting(),
    ];
  } finally {
    await deployment.stop();
  }
}
