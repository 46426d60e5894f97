/** Attacks by bodies: small requests of a stranger that cost much work, while others are served. */
import { application, service } from '../../../test/support/fixtures/descriptions.ts';
import { type Attack, type Finding, judge, judgeRefusals } from '../attack.ts';
import type { Reply } from '../target/http.ts';
import type { Target } from '../target/target.ts';
import { whileOthers } from './others-served.ts';

/** A faulty control plane took 23 s and more. */
const MAX_BODY_MS = 5_000;
const NAME_BYTES = 300_000;
const MIB = 2 ** 20;

const validate = (target: Target, body: string): Promise<Reply> =>
  target.send({ method: 'POST', path: 'app_validate', body });

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

const slow = (what: string, { ms }: Reply): string[] =>
  ms > MAX_BODY_MS ? [`${what} took ${seconds(ms)}`] : [];

/**
 * Sends a description that must be refused while others are served. `inspect`: what else is wrong with the
 * answer, and what to tell about it.
 */
async function judgeRefusal(
  target: Target,
  body: string,
  inspect = (_reply: Reply): { faults: string[]; shown: string } => ({ faults: [], shown: '' }),
): Promise<Finding> {
  const { done, slowestMs, problems } = await whileOthers(target, () => validate(target, body));
  const { faults, shown } = inspect(done);
  return judge(
    [
      ...problems,
      ...slow('the answer', done),
      ...(done.status === 400 ? [] : [`it was answered ${done.status} instead of 400`]),
      ...faults,
    ],
    `refused in ${seconds(done.ms)}${shown}; others waited at most ${seconds(slowestMs)}`,
  );
}

const longName: Attack = {
  id: 'long-name',
  who: 'a stranger',
  rules: ['H306', 'H308'],
  tries: 'stops the control plane by one description: 1,000 instances and a name of 300 KB',
  run: async (target) => {
    const name = 'a'.repeat(NAME_BYTES);
    const many = service({ name, total_count: 1_000, essential_count: 1_000 });
    const body = JSON.stringify(application(many));
    return judgeRefusal(target, body);
  },
};

const manyProblems: Attack = {
  id: 'many-problems',
  who: 'a stranger',
  rules: ['H306'],
  tries: 'delays others, and gets a large answer, by a description with ten thousand problems',
  run: async (target) => {
    const body = JSON.stringify({
      ...application(),
      services: Array.from({ length: 100 }, (_, n) => ({
        name: `${n}`,
        ports: Array.from({ length: 100 }, () => ({ x: 1 })),
      })),
    });
    return judgeRefusal(target, body, ({ text }) => {
      const listed = problemsIn(text);
      return {
        faults: listed > 100 ? [`the answer lists ${listed} problems`] : [],
        shown: ` with ${listed} problems`,
      };
    });
  },
};

const problemsIn = (text: string): number => {
  const { problems } = JSON.parse(text) as { problems?: unknown[] };
  return problems?.length ?? 0;
};

const deepBody: Attack = {
  id: 'deep-body',
  who: 'a stranger',
  rules: ['H307'],
  tries: 'exhausts the stack by lists within lists, half a million levels deep',
  run: async (target) => {
    const levels = MIB / 2 - 1;
    const body = '['.repeat(levels) + ']'.repeat(levels);
    return judgeRefusal(target, body);
  },
};

const largeBody: Attack = {
  id: 'large-body',
  who: 'a stranger',
  rules: ['H7'],
  tries: 'fills the memory by a body of 4 MiB',
  run: async (target) => {
    const reply = await validate(target, `"${'a'.repeat(4 * MIB)}"`).catch((error: Error) => error);
    if (reply instanceof Error) {
      target.signal.throwIfAborted();
      // The connection may be closed before the answer is read, since the body still arrives.
      return judge([], `the connection was closed (${reply.message})`);
    }
    return judgeRefusals([reply.status], (status) => status === 413);
  },
};

export const bodies: readonly Attack[] = [longName, manyProblems, deepBody, largeBody];
