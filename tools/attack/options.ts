/** Command line of `npm run attack`: parses its arguments. Pure. Passwords are never arguments. */
import { parseArgs } from 'node:util';
import { IMAGE } from '../../examples/image.ts';

export interface Options {
  url: URL;
  /** Whether the control plane is on the loopback of this machine. */
  local: boolean;
  user: string | undefined;
  admin: string | undefined;
  image: string;
  only: readonly string[];
  json: boolean;
  volumeRoot: string | undefined;
  connections: number;
  queue: number;
  outputMib: number;
  enrol: boolean;
}

export class UsageError extends Error {}

const MAX = { connections: 5_000, queue: 2_000, output: 1_024 };

export const USAGE = `Usage: npm run attack -- --url URL [--user NAME] [--admin NAME] [options]

Tries known attacks on a running Berth and reports what happened. Use it on your own deployment only.

  --url URL           the control plane, for example http://127.0.0.1:5001
  --user NAME         the attacker; the password is in ATTACK_PASSWORD, or is asked for
  --admin NAME        an administrator, who makes further users for the attacks and removes them again;
                      the password is in ATTACK_ADMIN_PASSWORD, or is asked for
  --force             allows a URL that is not on the loopback of this machine
  --only ID,...       only these attacks
  --list              lists the attacks and ends
  --json              prints one JSON object for each attack
  --image IMAGE       the image of containers; it needs a shell, httpd, wget and timeout (default ${IMAGE})
  --volume-root PATH  a folder of BERTH_AGENT_VOLUME_ROOTS, for attacks on host folders
  --connections N     connections that are held open (default 300, at most ${MAX.connections})
  --queue N           executions that may be submitted at most, to find a bound (default 30, at most ${MAX.queue})
  --output MIB        output that a container writes, to find its cap (default 0: none, at most ${MAX.output})
  --enrol             lets the administrator enrol a false host, which is removed again

Ends with 0 if no attack succeeds, with 1 if one does, and with 2 if it can't begin.`;

/** Returns the options, or `list` or `help` if only that is wanted. Throws UsageError. */
export function parseOptions(words: readonly string[], ids: readonly string[]): Options | 'list' | 'help' {
  const values = valuesOf(words);
  if (values.help) return 'help';
  if (values.list) return 'list';
  if (values.url === undefined) throw new UsageError('--url is missing');
  const url = addressOf(values.url);
  const local = isLoopback(url.hostname);
  if (!local && !values.force)
    throw new UsageError(`${url.hostname} is not on the loopback of this machine: --force attacks it anyway`);
  const only = (values.only ?? '').split(',').filter((id) => id !== '');
  const unknown = only.filter((id) => !ids.includes(id));
  if (unknown.length > 0) throw new UsageError(`--only has unknown attacks: ${unknown.join(', ')}`);
  if (values.enrol && values.admin === undefined) throw new UsageError('--enrol requires --admin');
  return {
    url,
    local,
    user: values.user,
    admin: values.admin,
    image: values.image ?? IMAGE,
    only,
    json: values.json ?? false,
    volumeRoot: values['volume-root'],
    connections: countOf('connections', values.connections, 300),
    queue: countOf('queue', values.queue, 30),
    outputMib: countOf('output', values.output, 0),
    enrol: values.enrol ?? false,
  };
}

function valuesOf(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        url: { type: 'string' },
        user: { type: 'string' },
        admin: { type: 'string' },
        image: { type: 'string' },
        only: { type: 'string' },
        'volume-root': { type: 'string' },
        connections: { type: 'string' },
        queue: { type: 'string' },
        output: { type: 'string' },
        force: { type: 'boolean' },
        list: { type: 'boolean' },
        json: { type: 'boolean' },
        enrol: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function addressOf(text: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw new UsageError('--url must be an http or https URL');
  if (url.username || url.password) throw new UsageError('--url must not contain a user or a password');
  return url;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

function countOf(name: keyof typeof MAX, text: string | undefined, otherwise: number): number {
  const count = text === undefined ? otherwise : Number(text);
  if (!Number.isInteger(count) || count < 0 || count > MAX[name])
    throw new UsageError(`--${name} must be a whole number from 0 to ${MAX[name]}`);
  return count;
}
