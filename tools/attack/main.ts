/**
 * Entry point of `npm run attack -- --url URL [--user NAME] [--admin NAME] [options]`: tries known attacks on
 * a running Berth, and prints what each tried and what happened. Cleans up after itself, after Ctrl-C also.
 * Exits with 0 if no attack succeeded, 1 if one did, 2 if it can't begin, and 130 after an interrupt.
 */

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Result } from './attack.ts';
import { attacks } from './attacks/all.ts';
import { runAttacks } from './campaign.ts';
import { type Options, parseOptions, USAGE, UsageError } from './options.ts';
import { beginningOf, endingOf, jsonOf, listOf, summaryOf } from './report.ts';
import { prepareAccounts } from './target/accounts.ts';
import { Target } from './target/target.ts';

const PREPARE_MS = 30_000;
const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (line: string) => void process.stdout.write(`${line}\n`);

try {
  const ids = attacks.map(({ id }) => id);
  const options = parseOptions(process.argv.slice(2), ids);
  if (options === 'help') print(USAGE);
  else if (options === 'list') print(listOf(attacks));
  else process.exitCode = await attack(options);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) say(`\n${USAGE}`);
  process.exitCode = 2;
}

async function attack(options: Options): Promise<number> {
  const chosen = attacks.filter(({ id }) => options.only.length === 0 || options.only.includes(id));
  const passwords = {
    user: await passwordOf(options.user, 'ATTACK_PASSWORD'),
    admin: await passwordOf(options.admin, 'ATTACK_ADMIN_PASSWORD'),
  };
  announce(options, chosen.length);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      say('Interrupted: cleaning up. A second interrupt ends at once.');
      stop.abort(new Error('interrupted'));
    });
  const target = new Target(options, AbortSignal.any([stop.signal, AbortSignal.timeout(PREPARE_MS)]));
  const results: Result[] = [];
  const left: string[] = [];
  try {
    await prepareAccounts(target, passwords);
    const running = runAttacks(chosen, target, stop.signal, left);
    for (const one of chosen) {
      say(beginningOf(one, results.length + 1, chosen.length));
      const { value: result } = await running.next();
      if (!result) break;
      results.push(result);
      say(endingOf(result));
      if (options.json) print(jsonOf(result));
    }
  } finally {
    left.push(...(await target.ofAll.run()));
  }
  for (const what of left) say(`Left behind: ${what}`);
  if (!options.json) print(`\n${summaryOf(results)}`);
  if (stop.signal.aborted) return 130;
  return results.some(({ verdict }) => verdict === 'vulnerable') ? 1 : 0;
}

function announce({ url, user, admin, enrol, volumeRoot }: Options, count: number): void {
  say(`Tries ${count} attacks on ${url.origin}, for some minutes at most. Others may notice them.`);
  if (user !== undefined) say(`As ${user}: submits small executions, and terminates them again.`);
  if (admin !== undefined)
    say(`As ${admin}: makes up to three users and a quota, named attack-..., and removes them again.`);
  if (enrol) say('Enrols a host that takes no services, and removes it again.');
  if (volumeRoot !== undefined)
    say(`Makes a folder berth-attack-... in ${volumeRoot}, and removes it again.`);
  say('Failed logins are counted for an hour: about 20 from this address. Ctrl-C stops and cleans up.\n');
}

/** The password of a user, from the environment or from the terminal. */
async function passwordOf(user: string | undefined, variable: string): Promise<string | undefined> {
  if (user === undefined) return undefined;
  const given = process.env[variable];
  if (given !== undefined) return given;
  if (!process.stdin.isTTY) throw new UsageError(`the password of ${user} must be in ${variable}`);
  process.stderr.write(`Password of ${user}: `);
  const silent = new Writable({ write: (_part, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
