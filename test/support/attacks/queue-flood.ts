/** Floods the queue with executions that fit nowhere, and measures meanwhile how others are served. */
import { setTimeout as pause } from 'node:timers/promises';
import { basic } from '../clients/http-client.ts';
import { application, service } from '../fixtures/descriptions.ts';

const CLIENTS = 16;
const PAUSE_MS = 20;

/** No host has 10,000 cores. */
const fitsNowhere = { memory: { min: null, max: null }, cores: { min: 10_000, max: null } };

export const manyInstances = application(
  service({ resources: fitsNowhere, total_count: 1_000, essential_count: 1_000 }),
);

/** 910 KB of text. */
export const longText = application(
  service({
    resources: fitsNowhere,
    environment: Array.from({ length: 8 }, (_, at): [string, string] => [`TEXT${at}`, 'x'.repeat(113_000)]),
  }),
);

const ordinary = application(service({ resources: fitsNowhere }));

export interface Account {
  name: string;
  password: string;
}

/** Submits one description by turns as each user, from several clients at once. Counts answers by status. */
export async function flood(
  url: string,
  users: readonly Account[],
  count: number,
  described: typeof longText,
): Promise<Record<number, number>> {
  const body = JSON.stringify({ name: 'flood', application: described });
  const answers: Record<number, number> = {};
  let at = 0;
  const client = async () => {
    while (at < count) {
      const user = users[at++ % users.length];
      if (!user) return;
      const headers = basic(user.name, user.password);
      const response = await fetch(`${url}/api/0.7/execution`, { method: 'POST', headers, body });
      await response.arrayBuffer();
      answers[response.status] = (answers[response.status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return answers;
}

/**
 * Another user reads `info` and submits, again and again, while `attack` goes on. `failed` counts the answers
 * that were not 200; the times are 99th percentiles.
 */
export async function serviceDuring(url: string, other: Account, attack: () => Promise<void>) {
  const times: { info: number[]; submit: number[] } = { info: [], submit: [] };
  let failed = 0;
  let isOver = false;
  const timed = async (list: number[], path: string, init: RequestInit = {}) => {
    const startMs = performance.now();
    const response = await fetch(`${url}/api/0.7/${path}`, { headers, ...init });
    const text = await response.text();
    list.push(performance.now() - startMs);
    if (!response.ok) failed += 1;
    return text;
  };
  const headers = basic(other.name, other.password);
  const body = JSON.stringify({ name: 'other', application: ordinary });
  const serve = async () => {
    while (!isOver) {
      await timed(times.info, 'info');
      if (times.info.length % 5 === 1) {
        const submitted = JSON.parse(await timed(times.submit, 'execution', { method: 'POST', body }));
        // Its own executions never fill the queue.
        await timed([], `execution/${submitted.execution_id}`, { method: 'DELETE' });
      }
      await pause(PAUSE_MS);
    }
  };
  const serving = serve();
  await attack().finally(() => {
    isOver = true;
  });
  await serving;
  const requests = times.info.length + times.submit.length;
  return { requests, failed, infoMs: percentile(times.info), submitMs: percentile(times.submit) };
}

const percentile = (times: readonly number[]): number =>
  Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN);
