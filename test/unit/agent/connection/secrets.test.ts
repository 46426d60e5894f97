/** The agent's requests for secrets: which answers are final, and how long it waits after too many. */
import { createServer } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { Addresses } from '../../../../agent/connection/addresses.ts';
import { secretsFrom } from '../../../../agent/connection/secrets.ts';
import type { FetchSecrets } from '../../../../agent/engine/folders/start-secrets.ts';
import { serving } from '../../../support/tools/serving.ts';

let answer: { status: number; body: string; headers?: Record<string, string> };
let requests: number;
let nowMs: number;
let fetchSecrets: FetchSecrets;

beforeEach(async () => {
  [requests, nowMs] = [0, 1_000];
  const server = createServer((_, response) => {
    requests += 1;
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  const addresses = new Addresses([new URL(`http://127.0.0.1:${await serving(server)}`)]);
  const identity = { headers: async () => ({}) };
  fetchSecrets = secretsFrom({ addresses, identity }, 'test', () => nowMs);
});

const fetched = () => fetchSecrets({ service: 1, generation: 1 }, new AbortController().signal);

test('P222: a refusal of the control plane is final, and a 400 of anything between is not', async () => {
  answer = { status: 400, body: '{"message":"There is no secret A."}' };
  expect(await fetched()).toEqual({ kind: 'refused', message: 'There is no secret A.' });
  answer = { status: 400, body: '<h1>Bad Request</h1>' };
  expect(await fetched()).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('400') });
  answer = { status: 200, body: '{"environment":[["A","x"]],"files":[]}' };
  expect(await fetched()).toEqual({ kind: 'values', values: { environment: [['A', 'x']], files: [] } });
  answer = { status: 200, body: '{"environment":[["A"]]}' };
  expect(await fetched()).toMatchObject({ kind: 'unreachable' });
});

test('P240: after too many requests the agent sends none before the time in the answer, at most 2 minutes', async () => {
  const values = { status: 200, body: '{"environment":[],"files":[]}' };
  for (const [header, waitS] of Object.entries({ 3: 3, 86400: 120, '-1': 5, soon: 5 })) {
    requests = 0;
    answer = { status: 429, body: '{"message":"too much"}', headers: { 'retry-after': header } };
    expect(await fetched()).toEqual({ kind: 'unreachable', message: 'too much' });
    answer = values;
    nowMs += 1_000 * waitS - 1;
    expect([await fetched(), requests]).toEqual([{ kind: 'unreachable', message: 'too much' }, 1]);
    nowMs += 1;
    expect([(await fetched()).kind, requests]).toEqual(['values', 2]);
  }
});
