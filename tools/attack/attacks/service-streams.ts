/** Attacks on what leads into a container: commands, ports and files of services, and web applications. */
import type { Socket } from 'node:net';
import { type Attack, judge, Skipped } from '../attack.ts';
import { appHostOf, pathIn, VISIT } from '../target/app-visit.ts';
import { outputOf, run, scripted, serviceOf, WEB_PORT } from '../target/executions.ts';
import { basic, linesOf, type Reply, UPGRADE, upgradeStatus } from '../target/http.ts';
import type { Account, Target } from '../target/target.ts';
import { judgeOthers } from './others-served.ts';

const NATIVE = '/native/api/0.7';
const READY = /RESULT ready\n/;
const UPGRADED = 101;
const PURPOSES = ['exec', 'forward', 'files'] as const;
const SUBPROTOCOL = { 'sec-websocket-protocol': 'berth.stream.v1' };

const FLOODS = 9;
const FLOOD_FRAMES = 100_000;
/** workerd takes up to 0.2 ms for a whole message, and can't be made to read later (docs/security.md). */
const WHOLE_MESSAGES = 2_000;
const FLOOD_MS = 2_000;
/** First bytes of frames of WebSockets, of which `LAST` ends a message. */
const [MORE, TEXT, BINARY, PING, LAST] = [0x00, 0x01, 0x02, 0x09, 0x80];

/** The id of a service of the victim's that runs, with a web application. */
const theirService = (target: Target): Promise<number> => running(target, target.account('victim'));

const running = async (target: Target, owner: Account): Promise<number> => {
  const script = `mkdir -p /tmp/w; httpd -p ${WEB_PORT.port_number} -h /tmp/w; echo RESULT ready; sleep 100`;
  const id = await run(target, owner, scripted(target, script, { ports: [WEB_PORT] }));
  await outputOf(target, owner, id, READY);
  return serviceOf(target, owner, id);
};

const upgrade = (target: Target, service: number, purpose: string, headers: Record<string, string>) =>
  upgradeStatus(target.url, {
    path: `${NATIVE}/service/${service}/${purpose}`,
    headers: { ...SUBPROTOCOL, ...headers },
    signal: target.signal,
  });

/** Throws Skipped unless the victim itself gets in: silence would prove nothing. */
async function assertReachable(target: Target, service: number): Promise<void> {
  const { cookie } = target.account('victim');
  for (const purpose of PURPOSES) {
    const status = await upgrade(target, service, purpose, { cookie });
    if (status !== UPGRADED) throw new Skipped(`the owner itself was answered ${status} by ${purpose}`);
  }
}

const othersContainer: Attack = {
  id: 'others-container',
  who: 'a user',
  rules: ['H685', 'H706'],
  tries: "runs a command in another user's container, connects to its ports, and copies its files",
  run: async (target) => {
    const { cookie, name, password } = target.ordinaryAttacker();
    const service = await theirService(target);
    await assertReachable(target, service);
    const opened: string[] = [];
    for (const credential of [{ cookie }, basic(name, password)]) {
      for (const purpose of PURPOSES)
        if ((await upgrade(target, service, purpose, credential)) === UPGRADED) opened.push(purpose);
      const path = `${NATIVE}/service/${service}/files?path=/etc/passwd`;
      if ((await target.send({ path, headers: credential })).status === 200) opened.push('a download');
    }
    return judge(
      opened.map((what) => `${what} was opened`),
      'each way was refused, and is open for the owner',
    );
  },
};

const crossSiteStream: Attack = {
  id: 'cross-site-stream',
  who: 'another web site',
  rules: ['H685'],
  tries: 'opens a shell in a container by a WebSocket, to which the browser adds the cookie',
  run: async (target) => {
    const { cookie } = target.account('victim');
    const service = await theirService(target);
    await assertReachable(target, service);
    const opened: string[] = [];
    for (const purpose of PURPOSES)
      for (const origin of ['https://evil.example', 'null', `${target.url.origin}.evil.example`])
        if ((await upgrade(target, service, purpose, { cookie, origin })) === UPGRADED)
          opened.push(`${purpose} was opened by ${origin}`);
    return judge(opened, 'no page of another origin opened one');
  },
};

const othersApplication: Attack = {
  id: 'others-application',
  who: 'a user',
  rules: ['H722', 'H724', 'H726', 'H730'],
  tries: "opens another user's web application by credentials of Berth, or has Berth answer at its name",
  run: async (target) => {
    const { cookie, name, password } = target.ordinaryAttacker();
    const service = await theirService(target);
    const host = await appHostOf(target, target.account('victim'), service);
    const session = cookie.slice(cookie.indexOf('=') + 1);
    const credentials: readonly Record<string, string>[] = [
      { cookie },
      basic(name, password),
      { authorization: `Bearer ${session}` },
      { cookie: `__Host-berth_app=${session}` },
      { cookie: `${cookie}; __Host-berth_app=${session}` },
    ];
    const answers: string[] = [];
    for (const headers of credentials)
      for (const path of ['/', `${NATIVE}/service/${service}`, '/metrics']) {
        const { status } = await target.send({ path, headers: { ...headers, host } });
        if (status !== 401) answers.push(`GET ${path} with ${Object.keys(headers)} was answered ${status}`);
      }
    const first = await target.send({ path: '/', headers: { ...VISIT, host } });
    const path = pathIn(first);
    const asAttacker = await target.send({ path, headers: { ...VISIT, cookie } });
    if (ticketIn(asAttacker)) answers.push('the attacker got a ticket');
    const { cookie: owners } = target.account('victim');
    if (!ticketIn(await target.send({ path, headers: { ...VISIT, cookie: owners } })))
      throw new Skipped('the owner itself got no ticket');
    return judge(answers, 'no credential of Berth counts there, and only the owner gets a ticket');
  },
};

const ticketIn = ({ status, headers }: Reply): boolean =>
  status === 303 && (headers.location ?? '').includes('/.berth/enter?ticket=');

/** A frame of a client, with a mask of zeros. The payload has 125 bytes at most. */
const frame = (first: number, payload: string): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)]);

/** A command that reads what comes. Undefined if it is refused. */
async function openCommand(
  target: Target,
  { cookie }: Account,
  service: number,
): Promise<Socket | undefined> {
  const socket = await target.dial();
  let received = '';
  const read = (part: Buffer) => {
    received += part.toString('latin1');
  };
  socket.on('data', read);
  const lines = linesOf({ host: target.url.host, cookie, ...UPGRADE, ...SUBPROTOCOL });
  socket.write(`GET ${NATIVE}/service/${service}/exec HTTP/1.1\r\n${lines}\r\n`);
  await target.until(async () => received.includes('\r\n\r\n') || undefined);
  if (!received.startsWith(`HTTP/1.1 ${UPGRADED}`)) return undefined;
  const request = { type: 'exec', words: ['sh', '-c', 'cat > /dev/null'] };
  socket.write(frame(LAST | TEXT, JSON.stringify(request)));
  await target.until(async () => /"(opened|reset)"/.test(received) || undefined);
  socket.off('data', read).pause();
  return received.includes('"opened"') ? socket : undefined;
}

const streamFrames: Attack = {
  id: 'stream-frames',
  who: 'a user',
  rules: ['H682', 'H781'],
  tries:
    'delays others by commands in its own service: by frames of one byte, fragments without an end, and pings whose answers it does not read',
  limitMs: 60_000,
  run: async (target) => {
    const attacker = target.ordinaryAttacker();
    const service = await running(target, attacker);
    const flood = (one: Buffer, count = FLOOD_FRAMES) =>
      Buffer.concat(Array.from({ length: count }, () => one));
    const floods = [
      flood(frame(LAST | BINARY, 'x'), WHOLE_MESSAGES),
      Buffer.concat([frame(BINARY, 'x'), flood(frame(MORE, 'x'))]),
      flood(frame(LAST | PING, 'x')),
    ];
    const sockets: Socket[] = [];
    for (let n = 0; n < FLOODS; n++) {
      const socket = await openCommand(target, attacker, service);
      if (!socket) throw new Skipped('the owner itself can run no command');
      sockets.push(socket);
    }
    return judgeOthers(target, async () => {
      for (const [n, socket] of sockets.entries()) socket.write(floods[n % floods.length] ?? '');
      await target.pause(FLOOD_MS);
      for (const socket of sockets) socket.destroy();
    });
  },
};

export const serviceStreams: readonly Attack[] = [
  othersContainer,
  crossSiteStream,
  othersApplication,
  streamFrames,
];
