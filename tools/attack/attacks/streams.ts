/** Attacks by streams of events, which stay open. */
import type { IncomingMessage } from 'node:http';
import { type Attack, judge, Skipped, vulnerable } from '../attack.ts';
import { open } from '../target/http.ts';
import { whileOthers } from './others-served.ts';

const TRIES = 120;
const HELD_MS = 500;

const streams: Attack = {
  id: 'many-streams',
  who: 'a user',
  rules: ['H295'],
  tries: `occupies all streams of events: opens ${TRIES}`,
  run: async (target) => {
    const { cookie } = target.account('attacker');
    const opened: IncomingMessage[] = [];
    target.ofAttack.add(async () => {
      for (const stream of opened) stream.destroy();
    });
    for (let n = 0; n < TRIES; n++) {
      const stream = await open(target.url, { path: 'events', headers: { cookie }, signal: target.signal });
      stream.on('error', () => {});
      opened.push(stream);
      const { statusCode = 0, headers } = stream;
      if (statusCode === 200) continue;
      if (statusCode === 404) throw new Skipped('this variant of the API has no events');
      const { slowestMs, problems } = await whileOthers(target, () => target.pause(HELD_MS));
      return judge(
        [
          ...problems,
          ...(statusCode === 429 ? [] : [`it was answered ${statusCode} instead of 429`]),
          ...(headers['retry-after'] ? [] : ['429 came without Retry-After']),
        ],
        `refused with 429 after ${n} streams; others waited at most ${slowestMs.toFixed(0)} ms`,
      );
    }
    return vulnerable(`one user opened ${TRIES} streams`);
  },
};

export const eventStreams: readonly Attack[] = [streams];
