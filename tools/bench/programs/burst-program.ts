/**
 * One user who requests 500 changes at a moment, again as soon as they are answered: credentials of
 * registries, secrets, tokens, the e-mail address, the password, and explanations. At SIGTERM it prints how
 * many bursts were answered, and how.
 */
import { Agent, request } from 'node:http';
import type { BurstLoad } from '../groups/bursts.ts';

const { url, requests, userId, authorization, executionId, password } = JSON.parse(
  process.argv[2] ?? '',
) as BurstLoad;
const { hostname, port } = new URL(url);
const agent = new Agent({ keepAlive: true, maxSockets: requests });
const answers: Record<string, number> = {};
let bursts = 0;
let isOver = false;

process.once('SIGTERM', () => {
  isOver = true;
});
while (!isOver) {
  await Promise.all(Array.from({ length: requests }, (_, n) => send(...changeOf(n))));
  bursts += 1;
}
agent.destroy();
console.log(JSON.stringify({ bursts, answers }));

/** The change with this number in a burst. Names recur, so that what the user has stays within its bounds. */
function changeOf(n: number): [method: string, path: string, body?: object] {
  // Each ends what Basic has proved before, which costs the processor more than all changes.
  if (n === requests - 1) return ['POST', `user/${userId}`, { password, current_password: password }];
  switch (n % 5) {
    case 0:
      return [
        'POST',
        'registry',
        { registry: `r${n % 20}.example.org`, username: 'u', password: `w${bursts}` },
      ];
    case 1:
      return ['POST', 'secret', { name: `S${n % 20}`, value: `${bursts}` }];
    case 2:
      return ['POST', 'token', { name: `t${bursts}-${n}`, scopes: ['read'] }];
    case 3:
      return ['POST', `user/${userId}`, { email: `a${n}@example.org` }];
    default:
      return ['GET', `execution/${executionId}/explain`];
  }
}

/** Any answer counts: what is refused (429) must delay others as little as what is done. */
function send(method: string, path: string, body?: object): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request(
      { agent, hostname, port, method, path: `/native/api/0.7/${path}`, headers: { authorization } },
      (answer) => {
        count(path, answer.statusCode);
        answer.resume().once('close', resolve);
      },
    );
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      count(path, error.code);
      resolve();
    });
    outgoing.end(body && JSON.stringify(body));
  });
}

function count(path: string, outcome: string | number | undefined): void {
  const what = `${path.replace(/\d+/, 'ID')} ${outcome}`;
  answers[what] = (answers[what] ?? 0) + 1;
}
