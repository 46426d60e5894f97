/** The program behind `npm run attack`, without a Berth: command line, time limits and verdicts. */
import { describe, expect, test } from 'vitest';
import { type Attack, type Result, Skipped, safe, vulnerable } from '../../../tools/attack/attack.ts';
import { attacks } from '../../../tools/attack/attacks/all.ts';
import { runAttacks } from '../../../tools/attack/campaign.ts';
import { type Options, parseOptions, UsageError } from '../../../tools/attack/options.ts';
import { jsonOf, summaryOf } from '../../../tools/attack/report.ts';
import { Target } from '../../../tools/attack/target/target.ts';
import { projectFiles } from '../../support/tools/sources.ts';

const LOCAL = ['--url', 'http://127.0.0.1:5001'];
const parse = (...words: string[]) => parseOptions(words, ['one', 'two']);

describe('the command line', () => {
  test('H370: only an address on the loopback of this machine is attacked, unless it is forced', () => {
    for (const url of ['http://127.0.0.1:5001', 'http://localhost:5001', 'https://[::1]', 'http://127.9.9.9'])
      expect(parse('--url', url)).toMatchObject({ local: true });
    for (const url of [
      'http://berth.example',
      'https://10.0.0.1',
      'http://127.0.0.1.example',
      'http://0.0.0.0',
    ]) {
      expect(() => parse('--url', url)).toThrow('is not on the loopback of this machine');
      expect(parse('--url', url, '--force')).toMatchObject({ local: false });
    }
  });

  test('H370: a password is never an argument, nor in the address', () => {
    expect(() => parse(...LOCAL, '--password', 'secret words')).toThrow(UsageError);
    expect(() => parse('--url', 'http://alice:secret@127.0.0.1')).toThrow('must not contain');
  });

  test.each([
    [[], '--url is missing'],
    [['--url', 'ftp://127.0.0.1'], 'http or https'],
    [[...LOCAL, '--only', 'one,three'], 'unknown attacks: three'],
    [[...LOCAL, '--connections', '5001'], 'from 0 to 5000'],
    [[...LOCAL, '--queue', 'x'], 'whole number'],
    [[...LOCAL, '--enrol'], '--enrol requires --admin'],
  ])('H369: %j is refused with the reason', (words, reason) => {
    expect(() => parse(...words)).toThrow(reason);
  });

  test('H369: the list of attacks needs no address', () => {
    expect(parse('--list')).toBe('list');
    expect(parse(...LOCAL, '--only', 'two')).toMatchObject({ only: ['two'], connections: 300, queue: 30 });
  });
});

describe('attacks', () => {
  test('H369: each has an id of its own, rules that exist, and a sentence', () => {
    const ids = attacks.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    const text = projectFiles()
      .filter(({ path }) => ['control-plane/SPEC.md', 'shared/protocol/PROTOCOL.md'].includes(path))
      .map((file) => file.text)
      .join('\n');
    for (const { id, rules, tries } of attacks) {
      expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(tries).toMatch(/^[a-z]+s\b/);
      expect(rules.length).toBeGreaterThan(0);
      for (const rule of rules) expect(text).toContain(`- **${rule}**`);
    }
  });
});

describe('a campaign', () => {
  const stop = () => new AbortController();
  const target = () => new Target(parse(...LOCAL) as Options, new AbortController().signal);
  const attack = (id: string, run: Attack['run'], limitMs = 5_000): Attack => ({
    id,
    who: 'a user',
    rules: ['H369'],
    tries: 'tries something',
    limitMs,
    run,
  });
  const resultsOf = async (
    campaign: readonly Attack[],
    { of = target(), stop: { signal } = stop(), left = [] as string[] } = {},
  ): Promise<Result[]> => {
    const results: Result[] = [];
    for await (const result of runAttacks(campaign, of, signal, left)) results.push(result);
    return results;
  };

  test('H372: an attack that cannot be tried is skipped with the reason, and is never called safe', async () => {
    const results = await resultsOf([
      attack('without-user', async (of) => safe(of.account('attacker').name)),
      attack('without-need', async () => {
        throw new Skipped('no host takes containers');
      }),
      attack('broken', async () => {
        throw new Error('something else');
      }),
      attack('slow', () => new Promise(() => {}), 10),
    ]);
    expect(results.map(({ verdict, happened }) => [verdict, happened])).toEqual([
      ['skipped', 'needs --user or --admin'],
      ['skipped', 'no host takes containers'],
      ['skipped', 'could not be carried out: something else'],
      ['skipped', 'did not end within 0.01 s, or was interrupted'],
    ]);
  });

  test('H371: what an attack made is undone after it, the latest first, also if the attack failed', async () => {
    const of = target();
    const steps: string[] = [];
    const left: string[] = [];
    await resultsOf(
      [
        attack('fails', async () => {
          of.ofAttack.add(async () => steps.push('first'));
          of.ofAttack.add(async () => {
            throw new Error('execution 7 has not ended');
          });
          of.ofAttack.add(async () => steps.push('last'));
          throw new Error('something else');
        }),
        attack('next', async () => safe(steps.join())),
      ],
      { of, left },
    );
    expect(steps).toEqual(['last', 'first']);
    expect(left).toEqual(['execution 7 has not ended']);
  });

  test('H371: an interrupt ends the current attack, undoes it, and begins no other', async () => {
    const of = target();
    const interrupt = stop();
    let undone = false;
    const results = await resultsOf(
      [
        attack('first', async () => {
          of.ofAttack.add(async () => {
            undone = true;
          });
          interrupt.abort(new Error('interrupted'));
          return new Promise(() => {});
        }),
        attack('second', async () => vulnerable('it was tried')),
      ],
      { of, stop: interrupt },
    );
    expect([undone, results.map(({ id, verdict }) => [id, verdict])]).toEqual([true, [['first', 'skipped']]]);
  });

  test('H369: the report names each attack with its verdict, and what happened unless it is safe', async () => {
    const results = await resultsOf([
      attack('fine', async () => safe('refused')),
      attack('hole', async () => vulnerable('it was accepted')),
    ]);
    expect(summaryOf(results)).toBe(
      'safe        fine  H369\nVULNERABLE  hole  H369: it was accepted\n\n1 safe, 1 vulnerable, 0 skipped',
    );
    expect(results.map((one) => JSON.parse(jsonOf(one)))).toMatchObject([
      { id: 'fine', verdict: 'safe', rules: ['H369'], happened: 'refused' },
      { id: 'hole', verdict: 'vulnerable', who: 'a user', tries: 'tries something' },
    ]);
  });
});
