/**
 * Workload of the study: applications with heavy-tailed sizes and run times, and their submission times.
 * Pure: the same seed gives the same workload, and one seed gives the same applications at every load.
 */
import { seededRandom } from '../../test/support/tools/random.ts';

export type Kind = 'batch elastic' | 'batch rigid' | 'interactive';
export const kinds: readonly Kind[] = ['batch elastic', 'batch rigid', 'interactive'];

/** An application as its user sees it. */
export interface Job {
  kind: Kind;
  submitMs: number;
  /** Number of instances that the application can use at once, and the number that it requires. */
  total: number;
  essential: number;
  /** Demand of each instance. */
  cores: number;
  memoryBytes: number;
  /** Run time with all instances. The total work is `total` times this. */
  runMs: number;
}

/** Identical hosts. */
export interface Machines {
  hosts: number;
  cores: number;
  memoryBytes: number;
}

type Random = () => number;

/**
 * Shape of a kind: its share of the submissions, and bounded Pareto distributions of its instances, with a
 * maximum per host, and of its run times.
 */
interface Profile {
  share: number;
  instances: Tail;
  essential: number;
  runSeconds: Tail;
}

interface Tail {
  exponent: number;
  min: number;
  max: number;
}

const profiles: Record<Kind, Profile> = {
  'batch elastic': {
    share: 0.6,
    instances: { exponent: 0.8, min: 4, max: 1.28 },
    essential: 2,
    runSeconds: { exponent: 0.9, min: 60, max: 4 * 3600 },
  },
  'batch rigid': {
    share: 0.2,
    instances: { exponent: 0.8, min: 2, max: 0.64 },
    essential: Number.POSITIVE_INFINITY,
    runSeconds: { exponent: 0.9, min: 60, max: 4 * 3600 },
  },
  interactive: {
    share: 0.2,
    instances: { exponent: 1.2, min: 2, max: 0.32 },
    essential: 1,
    runSeconds: { exponent: 1.1, min: 120, max: 2 * 3600 },
  },
};

/** Demands of an instance. They are round numbers, as people choose them; so are numbers of instances. */
const CORES = [1, 2, 4, 8];
const MEMORY_GIB = [2, 4, 8, 16, 32];
const GIB = 1024 ** 3;

/**
 * Returns `count` applications in the order of their submission, from time 0 on. `load` is their demand as a
 * share of the hosts' capacity from the first to the last submission, for cores or memory, whichever is
 * scarcer.
 */
export function workload(seed: number, count: number, load: number, machines: Machines): Job[] {
  const random = seededRandom(seed);
  const jobs = Array.from({ length: count }, () => jobOf(random, machines.hosts));
  const spanMs = demandMs(jobs, machines) / load;
  // Gaps of a Poisson process, scaled to the span.
  const gaps = jobs.map(() => -Math.log(1 - random()));
  const scale = spanMs / gaps.reduce((sum, gap) => sum + gap, 0);
  let submitMs = 0;
  for (const [n, job] of jobs.entries()) {
    submitMs += (gaps[n] ?? 0) * scale;
    job.submitMs = submitMs;
  }
  return jobs;
}

/** Time for which all work would keep the hosts busy without a break. */
function demandMs(jobs: readonly Job[], { hosts, cores, memoryBytes }: Machines): number {
  const sum = (need: (job: Job) => number) =>
    jobs.reduce((total, job) => total + job.total * job.runMs * need(job), 0);
  return Math.max(
    sum((job) => job.cores) / (hosts * cores),
    sum((job) => job.memoryBytes) / (hosts * memoryBytes),
  );
}

function jobOf(random: Random, hosts: number): Job {
  const kind = kindOf(random());
  const { instances, essential, runSeconds } = profiles[kind];
  const total = roundNumber(fromTail({ ...instances, max: instances.max * hosts }, random()));
  return {
    kind,
    submitMs: 0,
    total,
    essential: Math.min(total, essential),
    cores: pick(CORES, random()),
    memoryBytes: pick(MEMORY_GIB, random()) * GIB,
    runMs: Math.round(fromTail(runSeconds, random()) * 1_000),
  };
}

function kindOf(draw: number): Kind {
  if (draw < profiles['batch elastic'].share) return 'batch elastic';
  return draw < 1 - profiles.interactive.share ? 'batch rigid' : 'interactive';
}

const pick = (values: readonly number[], draw: number): number =>
  values[Math.floor(draw * values.length)] ?? Number.NaN;

/** The next lower number of 1, 2, 3, 4, 6, 8, 12, 16, 24 ... */
function roundNumber(value: number): number {
  const power = 2 ** Math.floor(Math.log2(value));
  return power > 1 && value >= 1.5 * power ? 1.5 * power : power;
}

/** Inverse of the bounded Pareto distribution. */
const fromTail = ({ exponent, min, max }: Tail, draw: number): number =>
  min / (1 - draw * (1 - (min / max) ** exponent)) ** (1 / exponent);
