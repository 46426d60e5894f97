/** Attacks of a container on the network: other users' containers, the host, the cloud, published ports. */
import { networkInterfaces } from 'node:os';
import { isCommonLoopback } from '../../../shared/same-host.ts';
import { type Attack, judge, Skipped, safe, vulnerable } from '../attack.ts';
import { outputOf, run, scripted, serviceOf, WEB_PORT } from '../target/executions.ts';
import { send } from '../target/http.ts';
import { serveDuring } from '../target/server.ts';
import type { Target } from '../target/target.ts';

const PAGE = 'berth-attack-page';
/** An image's web server with one page, on port 8080. */
const SERVE = `mkdir -p /tmp/w; echo ${PAGE} > /tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w`;
const DONE = /RESULT .*\n/;
const METADATA = ['169.254.169.254', '168.63.129.16', '100.100.100.200'];
const LISTEN_TRIES = 20;

/** A page of the container's own, which shows that its programs work. */
const OWN = 'http://127.0.0.1:8080/';

/**
 * Reads a page from each URL, and prints those that answered, and those that neither answered nor refused.
 * `before` may set variables for the URLs.
 */
const readScript = (urls: readonly string[], before = 'true'): string =>
  [
    `mkdir -p /tmp/w; echo ${PAGE} > /tmp/w/index.html; httpd -p 127.0.0.1:8080 -h /tmp/w`,
    before,
    `for u in ${[OWN, ...urls].join(' ')}`,
    'do timeout 2 wget -q -O - $u > /dev/null 2>&1; e=$?',
    'test $e = 0 && echo reached $u; test $e -ge 124 && echo silent $u',
    'done; echo RESULT done',
  ].join('; ');

interface Read {
  reached: string[];
  silent: string[];
}

/** Throws Skipped if the container could not even read its own page. */
function readIn(output: string): Read {
  const found = (word: string) =>
    [...output.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, url = '']) => url);
  const reached = found('reached');
  if (!reached.includes(OWN))
    throw new Skipped('the container did not read its own page: the image needs httpd, wget and timeout');
  return { reached: reached.filter((url) => url !== OWN), silent: found('silent') };
}

const neighbour: Attack = {
  id: 'neighbour',
  who: 'a container',
  rules: ['P91', 'C190'],
  tries: "reaches an undeclared port of another user's container, by its name and its address",
  run: async (target) => {
    const attacker = target.account('attacker');
    const victim = target.account('victim');
    // The second service shows that the port answers those who may reach it.
    const theirs = await run(
      target,
      victim,
      scripted(target, SERVE, { name: 'server', monitor: false }),
      scripted(
        target,
        'until timeout 2 wget -q -O - http://{dns_name#server0}:8080/; do sleep 0.2; done; echo RESULT control; sleep 100',
        { name: 'control', startup_order: 1 },
      ),
    );
    await outputOf(target, victim, theirs, DONE, 1);
    const server = await serviceOf(target, victim, theirs);
    const seen = await target.jsonAs<{ ip_address: string }>(victim, 'GET', `service/${server}`);
    const found = await target.send({ path: `discovery/by_group/${theirs}/server` });
    const { dns_names } = JSON.parse(found.text) as { dns_names: string[] };
    const urls = [seen.ip_address, ...dns_names].map((address) => `http://${address}:8080/`);
    const mine = await run(target, attacker, scripted(target, readScript(urls)));
    const { reached } = readIn(await outputOf(target, attacker, mine, DONE));
    return judge(
      reached.map((url) => `a container of ${attacker.name} read ${url} of ${victim.name}`),
      `${urls.join(' and ')} did not answer, and answered the user's own container`,
    );
  },
};

const metadata: Attack = {
  id: 'cloud-metadata',
  who: 'a container',
  rules: ['P96'],
  tries: 'reads the metadata service of a cloud, which often has credentials of the host',
  run: async (target) => {
    const attacker = target.account('attacker');
    const urls = METADATA.map((address) => `http://${address}/`);
    const id = await run(target, attacker, scripted(target, readScript(urls)));
    const { reached, silent } = readIn(await outputOf(target, attacker, id, DONE));
    if (reached.length === 0 && silent.length === urls.length)
      throw new Skipped('nothing refused the container, and nothing answered: no cloud has this machine');
    return judge(
      reached.map((url) => `a container read ${url}`),
      `${METADATA.join(', ')} did not answer`,
    );
  },
};

const hostService: Attack = {
  id: 'host-service',
  who: 'a container',
  rules: ['P96'],
  tries: 'reaches a service of its host, which listens on all addresses, through the gateway of its network',
  run: async (target) => {
    if (!target.options.local) throw new Skipped('needs a control plane and an agent on this machine');
    const attacker = target.account('attacker');
    const port = await serve(target);
    const before = 'g=$(ip route | sed -n "s/^default via \\([0-9.]*\\).*/\\1/p"); echo gateway $g';
    const urls = [port, target.url.port || 80, 2375].map((at) => `http://$g:${at}/`);
    const id = await run(target, attacker, scripted(target, readScript(urls, before)));
    const output = await outputOf(target, attacker, id, DONE);
    if (!/^gateway [0-9.]+$/m.test(output)) throw new Skipped('the container found no gateway');
    return judge(
      readIn(output).reached.map((url) => `a container read ${url}`),
      'the host answered no container',
    );
  },
};

/** A service of this machine on all addresses, on a port outside the range of published ports. */
async function serve(target: Target): Promise<number> {
  for (let n = 0; n < LISTEN_TRIES; n++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const served = serveDuring(target, (_, answer) => answer.end(PAGE), '0.0.0.0', port);
    if ((await served.catch(() => undefined)) !== undefined) return port;
  }
  throw new Skipped('no free port on this machine');
}

const publishedPort: Attack = {
  id: 'published-port',
  who: 'a stranger',
  rules: ['P106'],
  tries: 'reaches a published port on addresses of this machine other than the one that Berth shows',
  run: async (target) => {
    if (!target.options.local) throw new Skipped('needs a control plane and an agent on this machine');
    const shown = await publish(target);
    const others = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family, address }) => family === 'IPv4' && address !== shown.hostname)
      .map(({ address }) => new URL(`http://${address}:${shown.port}/`));
    const reached: string[] = [];
    for (const url of others) if (await answers(target, url)) reached.push(url.href);
    return reached.length > 0
      ? vulnerable(`${reached.join(', ')} answered, besides ${shown.href}`)
      : safe(`only ${shown.href} answered, and ${others.length} other addresses of this machine did not`);
  },
};

const cookiesAtPort: Attack = {
  id: 'cookies-at-port',
  who: 'a user',
  rules: ['P317'],
  tries: "gets the cookies of Berth at a published port, which browsers reach by a name of Berth's own host",
  run: async (target) => {
    const { protocol, hostname } = target.url;
    if (protocol === 'https:') return safe('the cookies of Berth are sent over https only');
    if (isCommonLoopback(hostname) && !target.options.local)
      throw new Skipped('needs a control plane and an agent on this machine');
    const { port } = await publish(target);
    const names = isCommonLoopback(hostname) ? ['127.0.0.1', '[::1]'] : [hostname];
    const reached: string[] = [];
    for (const name of names) {
      const url = new URL(`http://${name}:${port}/`);
      if (await answers(target, url)) reached.push(url.href);
    }
    return judge(
      reached.map((url) => `${url} is a port of the attacker at the host of ${target.url.origin}`),
      `the port does not answer at ${names.join(' and ')}`,
    );
  },
};

/** Runs a web server whose port is published. Resolves to the URL that Berth shows, once it answers. */
async function publish(target: Target): Promise<URL> {
  const attacker = target.account('attacker');
  const id = await run(target, attacker, scripted(target, SERVE, { ports: [WEB_PORT] }));
  return target.until(async () => {
    const shown = await target.jsonAs<[string, string][]>(attacker, 'GET', `execution/endpoints/${id}`);
    // The address of a web application comes before the published one.
    const published = shown.at(-1);
    if (!published) return undefined;
    const url = new URL(published[1]);
    return (await answers(target, url)) ? url : undefined;
  });
}

async function answers(target: Target, url: URL): Promise<boolean> {
  const signal = AbortSignal.any([target.signal, AbortSignal.timeout(2_000)]);
  try {
    return (await send(url, { path: '/', signal })).text.includes(PAGE);
  } catch {
    target.signal.throwIfAborted();
    return false;
  }
}

export const networks: readonly Attack[] = [neighbour, metadata, hostService, publishedPort, cookiesAtPort];
