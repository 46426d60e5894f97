/** Attacks on web applications at host names of their own, and by them on others who are served. */
import { application } from '../../../test/support/fixtures/descriptions.ts';
import { type Attack, judge, Skipped } from '../attack.ts';
import { appHostOf, enter, sendTo } from '../target/app-visit.ts';
import {
  scripted,
  serviceOf,
  submit,
  submittedIn,
  trySubmit,
  WEB_PORT,
  waiting,
} from '../target/executions.ts';
import { linesOf, UPGRADE } from '../target/http.ts';
import type { Account, Target } from '../target/target.ts';
import { exchange, hold, statusOf } from './connections.ts';
import { judgeOthers, whileOthers } from './others-served.ts';

const GUESSES = 200;
const LANES = 20;
const HALF_OPEN = 60;
const FLOODS = 8;
const DOWNLOADS = 16;
const FILE_MIB = 32;
const HELD_MS = 1_000;
/** A WebSocket's request without its end. */
const HALF_UPGRADE = linesOf(UPGRADE).trimEnd();

/** The host of an application that waits in the queue. */
const waitingHost = async (target: Target): Promise<string> => {
  const attacker = target.account('attacker');
  const id = await submit(target, attacker, { ...waiting(target), ports: [WEB_PORT] });
  return appHostOf(target, attacker, await serviceOf(target, attacker, id));
};

const twoHosts: Attack = {
  id: 'app-two-hosts',
  who: 'a stranger',
  rules: ['H722', 'H724'],
  tries: 'has Berth answer at the host of an application, by a request that also names the host of Berth',
  run: async (target) => {
    const app = await waitingHost(target);
    const berth = target.url.host;
    const heads = {
      'a target of another host': [`GET http://${berth}/api/0.7/info HTTP/1.1`, `Host: ${app}`],
      'two hosts': ['GET /api/0.7/info HTTP/1.1', `Host: ${app}`, `Host: ${berth}`],
      'a folded host': ['GET /api/0.7/info HTTP/1.1', `Host: ${app}`, ` ${berth}`],
      'a folded header': ['GET /api/0.7/info HTTP/1.1', `Host: ${app}`, 'X: a', `\tHost: ${berth}`],
      'a host with a user': ['GET /api/0.7/info HTTP/1.1', `Host: ${berth}@${app}`],
      'a host with a path': ['GET /api/0.7/info HTTP/1.1', `Host: ${app}/../${berth}`],
      'a path with a host': [`GET //${berth}/api/0.7/info HTTP/1.1`, `Host: ${app}`],
      'a forwarded host': ['GET /api/0.7/info HTTP/1.1', `Host: ${app}`, `X-Forwarded-Host: ${berth}`],
    };
    const usual = `GET /api/0.7/info HTTP/1.1\r\nHost: ${berth}\r\nConnection: close\r\n\r\n`;
    if ((await statusOf(target, usual)) !== 200) throw new Skipped('an ordinary request is not answered 200');
    const statuses = await Promise.all(
      Object.entries(heads).map(async ([what, lines]) => {
        const head = [...lines, 'Accept: */*', 'Connection: close'].join('\r\n');
        return [what, await statusOf(target, `${head}\r\n\r\n`)] as const;
      }),
    );
    const reached = statuses.filter(([, status]) => status !== undefined && status < 400);
    return judge(
      reached.map(([what, status]) => `${what} was answered ${status}`),
      `answered ${[...new Set(statuses.map(([, status]) => status ?? 'nothing'))].join(', ')}`,
    );
  },
};

const tickets: Attack = {
  id: 'app-tickets',
  who: 'a stranger',
  rules: ['H725'],
  tries: `gets into an application by ${GUESSES} guessed tickets and cookies, or delays others by them`,
  run: async (target) => {
    const app = await waitingHost(target);
    const cookie = `__Host-berth_visit=${'v'.repeat(43)}`;
    const answers = new Set<number>();
    let tried = 0;
    const lane = async () => {
      for (; tried < GUESSES; ) {
        const nth = tried++;
        const guess = `${nth}.`.padEnd(300, 'A');
        const byCookie = { cookie: `__Host-berth_app=${guess}`, accept: '*/*' };
        const reply = await (nth % 2 === 0
          ? sendTo(target, app, `/.berth/enter?ticket=${guess}`, { cookie })
          : sendTo(target, app, '/', byCookie));
        answers.add(reply.status);
      }
    };
    const { slowestMs, problems } = await whileOthers(target, () =>
      Promise.all(Array.from({ length: LANES }, lane)),
    );
    const letIn = [...answers].filter((status) => status !== 400 && status !== 401);
    return judge(
      [...problems, ...letIn.map((status) => `a guess was answered ${status}`)],
      `all were refused; others waited at most ${slowestMs.toFixed(0)} ms`,
    );
  },
};

/** Sends the bytes again and again, each time on a connection of its own, until `isOver`. */
async function flood(target: Target, bytes: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) await exchange(target, bytes);
}

const connections: Attack = {
  id: 'app-connections',
  who: 'a stranger',
  rules: ['H344', 'H345'],
  tries:
    'delays others at the host of an application: by halves of upgrades, upgrades that are not read, heads without an end, and bodies of tiny chunks',
  run: async (target) => {
    const app = await waitingHost(target);
    const head = `GET /socket HTTP/1.1\r\nHost: ${app}\r\n${HALF_UPGRADE}`;
    await hold(target, HALF_OPEN, head);
    const chunked = `POST / HTTP/1.1\r\nHost: ${app}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const floods = [
      `${head}\r\n\r\n`,
      `${head}\r\nX: ${'a'.repeat(200_000)}`,
      chunked + '1\r\na\r\n'.repeat(200_000),
    ];
    return judgeOthers(target, async () => {
      let isOver = false;
      const running = Array.from({ length: FLOODS }, (_, n) =>
        flood(target, floods[n % floods.length] ?? '', () => isOver),
      );
      await target.pause(HELD_MS);
      isOver = true;
      await Promise.all(running);
    });
  },
};

/** A page, and a file that is larger than what any buffer on the way may hold. */
const SERVE = [
  'mkdir -p /tmp/w; echo page > /tmp/w/index.html',
  `dd if=/dev/zero of=/tmp/w/large bs=1M count=1 seek=${FILE_MIB - 1} 2> /dev/null`,
  'exec httpd -f -p 8080 -h /tmp/w',
].join('; ');

/** Starts an application that every user may use. Resolves to its host. */
async function serve(target: Target, account: Account): Promise<string> {
  const described = application({ ...scripted(target, SERVE), ports: [WEB_PORT] });
  const reply = await trySubmit(target, account, described, { share: 'users' });
  if (reply.status !== 200) throw new Skipped(`the submission answered ${reply.status} ${reply.text}`);
  return appHostOf(target, account, await serviceOf(target, account, submittedIn(reply)));
}

const unread: Attack = {
  id: 'app-unread-downloads',
  who: 'a user',
  rules: ['H710', 'H715'],
  limitMs: 60_000,
  tries: `keeps another user from an application by ${DOWNLOADS} downloads of it that are never read`,
  run: async (target) => {
    const [attacker, victim] = [target.ordinaryAttacker(), target.account('victim')];
    const app = await serve(target, attacker);
    const page = async (cookie: string) => sendTo(target, app, '/', { cookie, accept: '*/*' });
    const ours = await enter(target, attacker, app);
    await target.until(async () => ((await page(ours)).status === 200 ? true : undefined));
    const theirs = await enter(target, victim, app);
    const get = `GET /large HTTP/1.1\r\nHost: ${app}\r\nCookie: ${ours}\r\nAccept: */*\r\n\r\n`;
    await hold(target, DOWNLOADS, get, 'unread');
    let slowestPageMs = 0;
    const { slowestMs, problems } = await whileOthers(target, async () => {
      await target.pause(HELD_MS);
      for (let n = 0; n < 5; n++) {
        const { status, ms } = await page(theirs);
        if (status !== 200) throw new Error(`another user was answered ${status}`);
        slowestPageMs = Math.max(slowestPageMs, ms);
      }
    });
    return judge(
      problems,
      `another user waited at most ${slowestPageMs.toFixed(0)} ms, and others ${slowestMs.toFixed(0)} ms`,
    );
  },
};

export const applications: readonly Attack[] = [twoHosts, tickets, connections, unread];
