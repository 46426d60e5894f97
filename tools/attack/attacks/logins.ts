/** Attacks on logins and passwords. They need few guesses, because failed logins are counted for an hour. */
import { randomBytes } from 'node:crypto';
import { type Attack, judge, judgeRefusals, Skipped } from '../attack.ts';
import { basic, type Reply } from '../target/http.ts';
import type { Target } from '../target/target.ts';
import { whileOthers } from './others-served.ts';

const GUESSES = 30;
/** A faulty control plane answered 503 for 25 s. */
const MAX_LOGIN_MS = 10_000;
/** A second round tells a real difference from what a busy machine adds to each answer of the first. */
const NAME_ROUNDS = 2;
const NAME_GUESSES = 3;
/** Times may differ by as much as a password check takes on a busy machine, about. */
const MAX_DIFFERENCE_MS = 150;

const logIn = (target: Target, name: string, password: string): Promise<Reply> =>
  target.send({ path: 'login', headers: basic(name, password) });

const parallelGuesses: Attack = {
  id: 'parallel-guesses',
  who: 'a stranger',
  rules: ['H133', 'H341', 'H342'],
  tries: `keeps others from logging in by ${GUESSES} guesses at one name at once`,
  run: async (target) => {
    const { name, password } = target.account('guest');
    const guessed = `attack-${randomBytes(4).toString('hex')}`;
    const guesses = Array.from({ length: GUESSES }, (_, n) => logIn(target, guessed, `guess ${n}`));
    const { done, problems } = await whileOthers(target, () => logIn(target, name, password));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    if (done.status === 429)
      throw new Skipped(
        `this address has too many failed logins: wait ${done.headers['retry-after']} s, or an hour`,
      );
    const right = statuses.filter((status) => ![401, 429, 503].includes(status));
    return judge(
      [
        ...problems,
        ...(done.status === 200 ? [] : [`a right login was answered ${done.status}`]),
        ...(done.ms > MAX_LOGIN_MS ? [`a right login took ${(done.ms / 1_000).toFixed(1)} s`] : []),
        ...(right.length > 0 ? [`guesses were answered ${[...new Set(right)].join(', ')}`] : []),
      ],
      `a right login took ${(done.ms / 1_000).toFixed(2)} s meanwhile`,
    );
  },
};

const userNames: Attack = {
  id: 'user-names',
  who: 'a stranger',
  rules: ['H16', 'H343'],
  tries: 'learns whether a user exists, by the answers to wrong logins and by their times',
  run: async (target) => {
    const { name } = target.account('victim');
    const replies: { known: Reply; unknown: Reply }[] = [];
    const fastest = (which: 'known' | 'unknown') => Math.min(...replies.map((one) => one[which].ms));
    const difference = () => Math.abs(fastest('known') - fastest('unknown'));
    for (let round = 1; round <= NAME_ROUNDS; round++) {
      for (let n = 0; n < NAME_GUESSES; n++)
        replies.push({
          known: await logIn(target, name, 'a wrong guess'),
          unknown: await logIn(target, `${name}-${replies.length}`, 'a wrong guess'),
        });
      if (difference() <= MAX_DIFFERENCE_MS) break;
    }
    if (replies.some(({ known, unknown }) => known.status === 429 || unknown.status === 429))
      throw new Skipped('this address has too many failed logins: wait an hour');
    const shown = ({ status, headers, text }: Reply) =>
      JSON.stringify([status, text, { ...headers, date: '' }]);
    const differs = replies.some(({ known, unknown }) => shown(known) !== shown(unknown));
    const differenceMs = difference();
    return judge(
      [
        ...(differs ? ['the answers differ'] : []),
        ...(differenceMs > MAX_DIFFERENCE_MS ? [`the times differ by ${differenceMs.toFixed(0)} ms`] : []),
      ],
      `the answers are the same, and their times differ by ${differenceMs.toFixed(0)} ms`,
    );
  },
};

const passwordByCookie: Attack = {
  id: 'password-by-cookie',
  who: 'a user',
  rules: ['H321'],
  tries: 'takes over an account by changing its password with a stolen cookie (to the password that it has)',
  run: async (target) => {
    const account = target.accounts.victim ?? target.account('attacker');
    if (account.id === undefined) throw new Skipped('this variant of the API has no users');
    const { password } = account;
    const { status } = await target.sendAs(account, 'POST', `user/${account.id}`, { password });
    if (status === 404) throw new Skipped('this variant of the API has no users');
    return judgeRefusals([status], (one) => [401, 403].includes(one));
  },
};

const shortPassword: Attack = {
  id: 'short-password',
  who: 'a user',
  rules: ['H322'],
  tries: "sets a password of one character, and one that is the user's name",
  run: async (target) => {
    const admin = target.account('admin');
    const { id, name } = target.account('guest');
    const statuses: number[] = [];
    for (const password of ['a', '123456789', name])
      statuses.push((await target.sendAs(admin, 'POST', `user/${id}`, { password })).status);
    return judgeRefusals(statuses, (status) => status === 400);
  },
};

export const logins: readonly Attack[] = [userNames, parallelGuesses, passwordByCookie, shortPassword];
