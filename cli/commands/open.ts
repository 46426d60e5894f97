/** `berth open`. */

import type { Command } from 'commander';
import type { Berth, Service } from '../../client/berth.ts';
import { getsCookiesOf } from '../../shared/same-host.ts';
import { placeOf } from '../inputs/arguments.ts';
import { openerOf, openUrl } from '../terminal/desktop.ts';
import { jsonOf } from '../terminal/list.ts';
import { onOneLine } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface OpenOptions {
  print?: boolean;
  json?: boolean;
}

interface Endpoint {
  service: string;
  group: string;
  /** The name of the port. */
  name: string;
  url: string;
  portNumbers: readonly number[];
  /** Through Berth, which keeps its cookies from it. */
  isApplication: boolean;
}

export function addOpenCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('open <id> [service|port]')
    .description(
      'Print the URL of an endpoint (ID, ID/SERVICE or ID/SERVICE:PORT), and open it if there is a desktop',
    )
    .option('-p, --print', 'only print it')
    .option('--json', 'only print it, as JSON with its service and name')
    .action(async (id: string, wanted: string | undefined, { print, json }: OpenOptions) => {
      const [berth, place] = [await connect(), placeOf(id)];
      const endpoint = await endpointOf(berth, place, wanted);
      const { service, name, url } = endpoint;
      if (json) return terminal.out(jsonOf({ service, name, url }));
      await terminal.out(`${onOneLine(url)}\n`);
      if (!print) await openAt(terminal, url, warningOf(berth.url, place.id, endpoint));
    });
}

/** The page of Berth that warns before an endpoint to which the browser sends Berth's cookies (W230). */
function warningOf(berthUrl: URL, id: number, { url, isApplication }: Endpoint): string | undefined {
  if (isApplication || !URL.canParse(url) || !getsCookiesOf(berthUrl, new URL(url))) return undefined;
  return new URL(`/executions/${id}/open?url=${encodeURIComponent(url)}`, berthUrl).href;
}

/** Descriptions come from other users: only pages of the web are opened. */
async function openAt(terminal: Terminal, url: string, warning: string | undefined): Promise<void> {
  const opener = terminal.columns === undefined ? undefined : openerOf(terminal.env);
  if (!opener) return;
  if (!/^https?:\/\//i.test(url)) return terminal.say('Only URLs of HTTP are opened.');
  if (warning !== undefined)
    terminal.say('A page of Berth warns first: the port is on the host of Berth itself.');
  await openUrl(opener, warning ?? url, terminal.env).catch((error: Error) => {
    throw new Error(`The URL can't be opened: ${error.message}. berth open --print only prints it.`);
  });
}

/** Throws if there is none, or if there are several. */
async function endpointOf(
  berth: Berth,
  { id, service: place }: { id: number; service?: string },
  second: string | undefined,
): Promise<Endpoint> {
  const [, named, port] = /^(.*?)(?::(\d{1,5}))?$/s.exec(place ?? '') ?? [];
  const wanted = second ?? port;
  const { status, services } = await berth.execution(id);
  const known = await Promise.all(services.map((service) => berth.service(service)));
  const all =
    place === undefined ? known : known.filter(({ name, service_group }) => isOf(named, name, service_group));
  if (all.length === 0)
    throw new Error(
      `Execution ${id} has no service ${named}; it has ${known.map(({ name }) => name).join(', ')}.`,
    );
  const endpoints = all.flatMap((one) => {
    const { name: service, service_group: group, description, endpoints = [], applications = [] } = one;
    return endpoints.map(([name, url]): Endpoint => {
      const ports = description.ports.filter((port) => port.name === name);
      const portNumbers = ports.map(({ port_number }) => port_number);
      const isApplication = applications.some((application) => application.url === url);
      return { service, group, name, url, portNumbers, isApplication };
    });
  });
  if (endpoints.length === 0) throw noEndpoint(id, status, all, known);
  const fitting = wanted === undefined ? endpoints : endpoints.filter((one) => isMeant(one, wanted));
  const [first] = fitting;
  if (!first) throw new Error(`Execution ${id} has no endpoint ${wanted}; it has ${listOf(endpoints)}.`);
  // Each instance of a group serves the same.
  if (fitting.every(({ group, name }) => group === first.group && name === first.name)) return first;
  throw new Error(
    `Execution ${id} has several endpoints; name the service or the port of ${listOf(fitting)}.`,
  );
}

/** An empty name is any, as in `12/:8080`. */
const isOf = (named: string | undefined, name: string, group: string): boolean =>
  !named || [name, group].includes(named);

const isMeant = ({ service, group, name, portNumbers }: Endpoint, wanted: string): boolean =>
  [service, group, name].includes(wanted) || portNumbers.some((port) => String(port) === wanted);

const listOf = (endpoints: readonly Endpoint[]): string =>
  endpoints.map(({ service, name }) => `${service} (${name})`).join(', ');

const hasPorts = ({ description }: Service): boolean => description.ports.length > 0;

function noEndpoint(
  id: number,
  status: string,
  services: readonly Service[],
  known: readonly Service[],
): Error {
  if (!known.some(hasPorts))
    return new Error(`Execution ${id} has no endpoints: its description has no ports.`);
  if (!services.some(hasPorts)) {
    const others = known.filter(hasPorts).map(({ name }) => name);
    return new Error(
      `${services.map(({ name }) => name).join(', ')} of execution ${id} has no ports; these have: ${others.join(', ')}.`,
    );
  }
  if (status === 'terminated' || status === 'error')
    return new Error(`Execution ${id} has no endpoints any more: it has ended (${status}).`);
  const isPublished = services.some(({ description: { ports, publish = true } }) =>
    ports.some((port) => port.publish ?? publish),
  );
  if (!isPublished && services.every(({ applications = [] }) => applications.length === 0))
    return new Error(
      `Execution ${id} has no endpoints: its ports are not published ("publish": false). berth forward ${id} PORT leads to one of them.`,
    );
  return new Error(
    `Execution ${id} has no endpoints yet: it is ${status}, and no service with a port is active. berth explain ${id} says what it waits for.`,
  );
}
