/**
 * A hostile agent holds the key of its own host, and sends false, repeated and malformed messages beside its
 * proper ones. They may end its own connection and must change nothing else: every check goes on to apply. It
 * does not lie about the containers that it was given (TEST-7).
 */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { ProvenIds } from '../../../../shared/protocol/assignment.ts';
import { CHUNK_HEADER_BYTES, encodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Observation, Report, Up } from '../../../../shared/protocol/up.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Link } from '../world/network.ts';

/** Already used by the agent, which the acknowledgement of a forged report therefore does not mislead. */
const USED_SEQUENCE = 1;
const MAX_REPEATS = 200;
const FORGED_AT_MS = 1_700_000_000_000;

const FALSE_IDS = 'a hello with false ids';
const FALSE_OFFER = 'a hello that offers more than was agreed';
const FALSE_STARTS = 'a hello with later starts of services of other hosts';
const HELLOS = [FALSE_IDS, FALSE_IDS, FALSE_OFFER, FALSE_STARTS];
/** Labels that applications of the simulation require. */
const WANTED_LABELS = ['ssd', 'gpu'];

type Forgery = (link: Link, simulation: Simulation) => Frame[];

/** Sends one kind of hostile frames on the link. Returns false if there was nothing to forge from. */
export function sendForgeries(link: Link, simulation: Simulation): boolean {
  const { world } = simulation;
  const kind = world.chance(0.4) ? world.pick(HELLOS) : world.pick(Object.keys(forgeries));
  if (HELLOS.includes(kind)) {
    // The first offer of a host is agreed, whatever it is.
    if (kind === FALSE_OFFER && !simulation.ledger.hosts.get(Number(link.hostId))?.agreed) return false;
    world.note(`${link.name} reconnects with ${kind}`);
    world.count(`forged: ${kind}`);
    const falsify = hellos[kind];
    if (!falsify) return false;
    const change = falsify(simulation, link);
    simulation.network.falsify.set(link.machine, (hello) => JSON.stringify(change(JSON.parse(hello))));
    link.cut('the agent');
    return true;
  }
  const frames = forgeries[kind]?.(link, simulation) ?? [];
  if (frames.length === 0) return false;
  world.note(`${link.name} forges ${frames.length} frames: ${kind}`);
  world.count(`forged: ${kind}`);
  for (const frame of frames) link.forge(frame);
  return true;
}

/** How the next hello of the agent is changed. */
const hellos: Record<string, (simulation: Simulation, link: Link) => (hello: Hello) => Hello> = {
  [FALSE_IDS]: falseIds,
  [FALSE_OFFER]: falseOffer,
  [FALSE_STARTS]: falseStarts,
};

const forgeries: Record<string, Forgery> = {
  'reports on services of other hosts': (link, simulation) => {
    const row = foreignService(link, simulation);
    if (!row) return [];
    return [report({ observations: [lie(row, simulation)] })];
  },
  'the end of logs of other hosts': (link, simulation) => {
    const row = foreignService(link, simulation);
    return row ? [report({ forgotten: [Number(row.id)] })] : [];
  },
  'reports on services that never existed': (_, { world }) => {
    const service = world.pick([10 ** 6, 2 ** 40]);
    return [report({ observations: [{ service, generation: 1, state: 'gone' }], forgotten: [service] })];
  },
  'its own reports again': (link, { world }) => {
    const reports = link.history.filter((frame) => frame.includes('"type":"report"'));
    return reports.length === 0 ? [] : [world.pick(reports)];
  },
  'reports of other hosts again': (link, { world, network }) => {
    const others = [...network.links].filter(({ hostId }) => hostId !== link.hostId);
    // Its own streams have the numbers of those of others, and are its own to spoil.
    const frames = others.flatMap(({ history }) => history).filter((frame) => !isOfChannel(frame));
    if (frames.length === 0) return [];
    const message = JSON.parse(world.pick(frames)) as Up;
    return [JSON.stringify(message.type === 'report' ? { ...message, sequence: USED_SEQUENCE } : message)];
  },
  'a flood of signs of life': (_, { world }) =>
    Array.from({ length: world.between(10, MAX_REPEATS) }, () => report({})),
  'a second hello': (link) => link.history.filter((frame) => frame.includes('"type":"hello"')).slice(0, 1),
  'output of streams that were not opened': (_, { world }) => {
    const channel = world.between(0, 2 ** 31);
    return [encodeChunk({ channel, payload: new Uint8Array(world.between(1, 1_000)) })];
  },
  'the end of streams that were not opened': (_, { world }) => [
    JSON.stringify({ type: 'channel.end', channel: world.between(0, 2 ** 31) }),
  ],
  'messages without sense': (_, { world }) => [
    world.pick<Frame>([
      '',
      '{',
      'null',
      '[[[[',
      '{"type":"report"}',
      '{"type":"bye"}',
      '{"type":"report","sequence":-1,"observations":[],"forgotten":[]}',
      new Uint8Array(CHUNK_HEADER_BYTES - 1),
    ]),
  ],
};

const report = (content: Partial<Report>): string =>
  JSON.stringify({ type: 'report', sequence: USED_SEQUENCE, observations: [], forgotten: [], ...content });

/** A committed service that another host holds. */
function foreignService(link: Link, { world, ledger }: Simulation): Row | undefined {
  const rows = [...ledger.services.values()].filter((row) => isElsewhere(row, link));
  return rows.length === 0 ? undefined : world.pick(rows);
}

function lie({ id, generation }: Row, { world }: Simulation): Observation {
  const key = { service: Number(id), generation: Number(generation) };
  const containerId = 'forged';
  return world.pick<Observation>([
    { ...key, state: 'gone' },
    { ...key, state: 'failed', temporary: false, message: 'forged' },
    { ...key, state: 'exited', containerId, exitCode: 0, outOfMemory: false, finishedAtMs: FORGED_AT_MS },
    { ...key, state: 'running', containerId, ipAddress: '192.0.2.66', ports: [], startedAtMs: FORGED_AT_MS },
  ]);
}

type Hello = Extract<Up, { type: 'hello' }>;

/** Changes a hello: it claims ids that were never given, without a proof or with a false one. */
function falseIds({ world, network, ledger }: Simulation): (hello: Hello) => Hello {
  const beyond = world.pick([1, 5, 30, 1_000, 10 ** 9]);
  const kind = world.pick(['highest', 'inventory', 'a proof of other ids', 'a proof without sense'] as const);
  const proofs = [...network.links].flatMap(({ history }) => history).flatMap(proofsOf);
  const given = proofs.length > 0 ? world.pick(proofs) : undefined;
  return (hello) => {
    const { execution = 0, service = 0 } = hello.highest ?? {};
    const highest = {
      execution: Math.max(execution, ...ledger.executions.keys()) + beyond,
      service: Math.max(service, ...ledger.services.keys()) + beyond,
    };
    const forged = (proof: string) => ({ ...hello, highest, idProofs: [{ ...highest, proof }] });
    const changed: Record<typeof kind, Hello> = {
      highest: { ...hello, highest },
      inventory: {
        ...hello,
        // So far beyond that it can't come about while the hello is on its way.
        inventory: [...hello.inventory, { service: highest.service + 1_000, generation: 1, state: 'gone' }],
      },
      'a proof of other ids': forged(given?.proof ?? 'none'),
      'a proof without sense': forged('AAAAAAAAAAAAAAAAAAAAAA'),
    };
    return changed[kind];
  };
}

/** Changes a hello: it offers labels that others require, and a larger machine. */
function falseOffer({ world }: Simulation): (hello: Hello) => Hello {
  const factor = world.pick([1, 1.01, 2, 1_000]);
  return (hello) => {
    const { labels, memoryBytes, cores } = hello.host;
    const offer = {
      labels: [...new Set([...labels, ...WANTED_LABELS])],
      memoryBytes: Math.ceil(memoryBytes * factor),
      cores: cores * factor,
    };
    return { ...hello, host: { ...hello.host, ...offer } };
  };
}

/** Changes a hello: it lists a start of another host's service that was never given. */
function falseStarts(simulation: Simulation, link: Link): (hello: Hello) => Hello {
  const { world, ledger } = simulation;
  return (hello) => {
    const rows = [...ledger.services.values()].filter(
      (row) => isElsewhere(row, link) && row.placed === 1 && ledger.isEssential(row),
    );
    if (rows.length === 0) return hello;
    const row = world.pick(rows);
    // Its own report on the service would be true.
    if (hello.inventory.some(({ service }) => service === row.id)) return hello;
    const later = { ...row, generation: Number(row.generation) + world.pick([1, 5]) };
    return { ...hello, inventory: [...hello.inventory, lie(later, simulation)] };
  };
}

const isOfChannel = (frame: string): boolean => frame.startsWith('{"type":"channel.');

const isElsewhere = (row: Row, { hostId }: Link): boolean =>
  row.host_id !== null && row.host_id !== hostId && row.status !== 'inactive';

const proofsOf = (frame: string): ProvenIds[] =>
  frame.includes('"type":"hello"') ? ((JSON.parse(frame) as Hello).idProofs ?? []) : [];
