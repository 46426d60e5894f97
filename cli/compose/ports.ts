/** Makes ports of a description out of those of a Compose service. Pure. */
import { MAX_ENTRIES, type ServiceDescription } from '../../shared/application-schema.ts';
import type { Path, Remarks } from './remarks.ts';
import type { ComposePort } from './schema.ts';

type Port = ServiceDescription['ports'][number];

/** What listens at a port, unless `app_protocol` says it. Any other TCP port is taken for one of HTTP. */
const SCHEMES: Readonly<Record<number, string>> = {
  22: 'ssh',
  443: 'https',
  1883: 'mqtt',
  3306: 'mysql',
  4222: 'nats',
  5432: 'postgresql',
  5672: 'amqp',
  6379: 'redis',
  8443: 'https',
  9092: 'kafka',
  27017: 'mongodb',
};
/** `127.0.0.1:8080:80/tcp`, of which only the last number and the protocol count. */
const SHORT = /^(?:(.*):)?(\d{1,5})(?:-(\d{1,5}))?(?:\/([a-z]+))?$/;
const TARGET = /^\d{1,5}$/;

/** The ports by their place in the file. A port that is published twice is there once. */
export function portsOf(
  given: readonly ComposePort[],
  service: string,
  base: Path,
  remarks: Remarks,
): { path: Path; port: Port }[] {
  const ports = new Map<string, { path: Path; port: Port }>();
  for (const [at, entry] of given.entries()) {
    // One more than a description may have, so that its check refuses them.
    if (ports.size > MAX_ENTRIES) break;
    const path = [...base, at];
    for (const port of typeof entry === 'string' ? short(entry, path, remarks) : long(entry, path, remarks)) {
      const key = `${port.number}/${port.protocol}`;
      if (!ports.has(key)) ports.set(key, { path, port: described(port, service) });
    }
  }
  return [...ports.values()];
}

interface Found {
  number: number;
  protocol: 'tcp' | 'udp';
  scheme?: string | undefined;
  name?: string | undefined;
}

function short(text: string, path: Path, remarks: Remarks): Found[] {
  const [, published, first = '', last = first, protocol = 'tcp'] = SHORT.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (first === '' || to < from || to - from > MAX_ENTRIES) {
    remarks.problem(path, `is not a port such as "8080:80", or a range of at most ${MAX_ENTRIES} ports`);
    return [];
  }
  if (!isKnown(protocol)) return without(protocol, path, remarks);
  if (published !== undefined) leaveOutPublished(path, published, remarks);
  return Array.from({ length: to - from + 1 }, (_, n) => ({ number: from + n, protocol }));
}

function long(entry: Exclude<ComposePort, string>, path: Path, remarks: Remarks): Found[] {
  const { target, published, protocol, app_protocol, name } = entry;
  if (!TARGET.test(target)) {
    remarks.problem([...path, 'target'], 'must be a port number');
    return [];
  }
  if (!isKnown(protocol)) return without(protocol, path, remarks);
  if (published != null) leaveOutPublished([...path, 'published'], published, remarks);
  const scheme = app_protocol != null && SCHEME.test(app_protocol) ? app_protocol : undefined;
  if (app_protocol != null && scheme === undefined)
    remarks.leaveOut([...path, 'app_protocol'], 'the URL of an endpoint can not begin with it');
  return [{ number: Number(target), protocol, scheme, name: name ?? undefined }];
}

/** A scheme of URLs. Descriptions refuse those that browsers run. */
const SCHEME = /^[a-z][a-z0-9+.-]{0,31}$/i;

const isKnown = (protocol: string): protocol is Found['protocol'] => protocol === 'tcp' || protocol === 'udp';

function without(protocol: string, path: Path, remarks: Remarks): [] {
  remarks.leaveOut(path, `hosts publish tcp and udp, and not ${protocol}`);
  return [];
}

const leaveOutPublished = (path: Path, published: string, remarks: Remarks): void =>
  remarks.leaveOut(
    path,
    `only its port of the host, ${published}: a free one is published in its place (berth endpoints)`,
  );

function described({ number, protocol, scheme, name }: Found, service: string): Port {
  const known = scheme ?? SCHEMES[number] ?? 'http';
  const isUdp = protocol === 'udp';
  return {
    name: name ?? `${service} ${number}${isUdp ? '/udp' : ''}`,
    port_number: number,
    protocol,
    url_template: isUdp ? `${scheme ?? 'udp'}://{ip_port}` : `${known}://{ip_port}/`,
  };
}
