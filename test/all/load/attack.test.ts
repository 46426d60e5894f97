/** `npm run attack` against a whole Berth, on both hosts: safe as it is, and found where it is not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Result } from '../../../tools/attack/attack.ts';
import { freePort } from '../../support/hosts/port.ts';
import { type Program, startProgram } from '../../support/hosts/process.ts';
import { type Berth, PASSWORD, startBerth } from '../../support/rigs/berth.ts';

const WEAK = {
  BERTH_NETWORK_ISOLATION: 'none',
  BERTH_AGENT_CAPABILITIES: 'NET_RAW',
  BERTH_AGENT_BIND: '0.0.0.0',
  BERTH_LIMITS: JSON.stringify({ minPasswordLength: 1 }),
};
const LIMIT_MS = 240_000;
/** These need options that make them long, or a folder of the operator's. */
const SKIPPED = ['endless-output', 'folder-race'];

const attack = (berth: Berth, ...options: string[]): Program =>
  startProgram(['tools/attack/main.ts', '--url', berth.url, '--admin', 'admin', ...options], {
    env: { ATTACK_ADMIN_PASSWORD: PASSWORD },
  });

/** The results that a program with `--json` printed. */
const resultsOf = ({ output }: Program): Result[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Result);

/** What attacks make: users, quotas and executions that have not ended. */
async function leftIn({ api }: Berth): Promise<string[]> {
  const read = async (kind: string) => Object.values((await api.http.get(kind)).json());
  const users = (await read('user')) as { username: string }[];
  const executions = (await read('execution')) as { id: number; status: string }[];
  return [
    ...users.map(({ username }) => username).filter((name) => name.startsWith('attack-')),
    ...executions.filter(({ status }) => status !== 'terminated').map(({ id }) => `execution ${id}`),
  ];
}

const hosts = [
  ['node', 'control-plane/node.ts'],
  ['workerd', 'control-plane/local/dev.ts'],
] as const;

describe.each(hosts)('%s', (kind, entry) => {
  let berth: Berth;
  beforeAll(async () => {
    const port = await freePort();
    berth = await startBerth({
      ...{ deployment: `e2e-attack-${kind}`, entry, port },
      env: {
        BERTH_LIMITS: JSON.stringify({ waitingPerUser: 20 }),
        BERTH_APPS_URL: `http://*.apps.localhost:${port}`,
        BERTH_PUBLIC_URL: `http://localhost:${port}`,
      },
    });
  });
  afterAll(() => berth.close());

  test('H369, H371: every attack is tried, none succeeds, and nothing is left', {
    timeout: LIMIT_MS,
  }, async () => {
    const program = attack(berth, '--json', '--enrol');
    const code = await program.waitForEnd(LIMIT_MS);
    const results = resultsOf(program);
    const odd = results.filter(({ id, verdict }) => verdict !== (SKIPPED.includes(id) ? 'skipped' : 'safe'));
    expect(odd, JSON.stringify(odd)).toEqual([]);
    expect([code, results.length > 30]).toEqual([0, true]);
    expect(program.output).not.toContain('Left behind');
    expect(await leftIn(berth)).toEqual([]);
  });
});

describe('a Berth with settings that weaken it', () => {
  let berth: Berth;
  beforeAll(async () => {
    berth = await startBerth({ deployment: 'e2e-attack-weak', env: WEAK });
  });
  afterAll(() => berth.close());

  test('H369: the attacks that succeed are reported, and the exit code is 1', async () => {
    const ids = [
      'short-password',
      'neighbour',
      'published-port',
      'cookies-at-port',
      'capabilities',
      'deep-body',
    ];
    const program = attack(berth, '--json', '--only', ids.join());
    expect(await program.waitForEnd(LIMIT_MS)).toBe(1);
    const results = new Map(resultsOf(program).map((one) => [one.id, one]));
    expect([...results.values()].filter(({ verdict }) => verdict !== 'vulnerable')).toMatchObject([
      { id: 'deep-body', verdict: 'safe' },
    ]);
    const happened = (id: string) => results.get(id)?.happened;
    expect(happened('neighbour')).toMatch(
      /^a container of attack-attacker-\w+ read http:.* of attack-victim-/,
    );
    expect(happened('capabilities')).toBe('it has the capabilities NET_RAW');
    expect(happened('published-port')).toMatch(/answered, besides http:/);
    expect(happened('cookies-at-port')).toMatch(/is a port of the attacker at the host of http:/);
    expect(happened('short-password')).toBe('it was answered 200, 200, 400');
  });

  test('H371: an interrupt ends the program with 130, and nothing is left', async () => {
    const program = attack(berth, '--only', 'neighbour');
    await program.waitFor(/^\[1\/1\]/m);
    await program.waitUntil(async () => (await berth.containers()).length > 0);
    process.kill(program.pid, 'SIGINT');
    expect(await program.waitForEnd()).toBe(130);
    expect(await leftIn(berth)).toEqual([]);
  });
});
