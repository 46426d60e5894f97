/**
 * Executes each step on the engine and the stored output. Never decides which step is next: that is plan.ts.
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { type Container, type Engine, EngineError, type Start } from '../engine/engine.ts';
import { type SecretSource, withSecrets } from '../engine/folders/start-secrets.ts';
import { type FetchCredentials, pullCredentials } from '../engine/pulls/pull-credentials.ts';
import type { OutputStore } from '../logs/output-store.ts';

interface StepArguments {
  create: { assignment: Assignment };
  pull: { assignment: Assignment };
  start: { assignment: Assignment; container: Container };
  'preserve-output': { container: Container };
  stop: { container: Container };
  remove: { container: Container };
}

export type StepKind = keyof StepArguments;
export type Step = { [Kind in StepKind]: { kind: Kind } & StepArguments[Kind] }[StepKind];

/** What a step changed. `replaces`: a container that no longer exists. */
export interface Effect {
  container?: Container | undefined;
  replaces?: string;
  imagePulled?: boolean;
}

export interface StepContext extends SecretSource {
  engine: Engine;
  output: OutputStore;
  fetchCredentials: FetchCredentials;
  /** The CPU limit of a container created now, in cores. */
  cpuLimit(assignment: Assignment): number;
  progress(detail: string): void;
  /** Why the host counts as low on disk. Undefined if it is not. */
  lowDisk(): string | undefined;
  signal: AbortSignal;
}

type Executor<Kind extends StepKind> = (step: StepArguments[Kind], context: StepContext) => Promise<Effect>;

const executors: { [Kind in StepKind]: Executor<Kind> } = {
  create: async ({ assignment }, context) => {
    const { secretFiles } = context;
    try {
      const start = await withSecrets(assignment, context);
      const container = await createWithFiles(start, context);
      return { container };
    } catch (error) {
      // The next attempt writes them again.
      if (assignment.secrets) await secretFiles.remove(assignment);
      throw error;
    }
  },

  pull: async ({ assignment }, context) => {
    const { engine, progress, lowDisk, signal, fetchCredentials } = context;
    const low = lowDisk();
    if (low !== undefined) throw new EngineError('temporary', `the host is low on disk: ${low}`);
    const credentials = await pullCredentials(assignment, fetchCredentials, context);
    await engine.pull(assignment.image, progress, signal, credentials);
    return { imagePulled: true };
  },

  start: async ({ assignment, container: created }, context) => {
    const { engine, output, cpuLimit } = context;
    // The engine may have to create the container anew, and the host may have lost the files.
    const start = await withSecrets(assignment, context);
    const mayHaveRun = output.wasStarted(created);
    // Must precede the start. If this agent is killed now and the container is removed meanwhile, the next
    // agent must not start the key again (CONT-1).
    const set = () => {
      if (!output.markStarted(created))
        throw new EngineError('temporary', 'another agent on this host has begun to start the service');
    };
    const clear = () => output.unmarkStarted(created);
    set();
    const started = engine.start(start, created.id, cpuLimit(assignment), !mayHaveRun, { set, clear });
    const container = await started.catch((error) => {
      // The start has failed and is not gone. The next agent must find the same.
      if (!mayHaveStarted(error)) output.unmarkStarted(created);
      throw error;
    });
    // The container runs. If its output cannot be preserved yet, that is the next step, which is retried.
    await output.preserve(container).catch(() => {});
    return { container, replaces: created.id };
  },

  'preserve-output': async ({ container }, { output }) => {
    output.markStarted(container);
    await output.preserve(container);
    if (container.state === 'exited') await output.finalise(container);
    return {};
  },

  stop: async ({ container }, { engine }) => {
    await engine.stop(container.id);
    const seen = await engine.inspect(container.id);
    return seen ? { container: seen } : { replaces: container.id };
  },

  remove: async ({ container }, { engine, secretFiles }) => {
    await engine.remove(container.id);
    await secretFiles.remove(container);
    return { replaces: container.id };
  },
};

/** A file that the engine does not find is named in its message. */
async function createWithFiles(
  start: Start,
  { engine, cpuLimit, secretFiles }: StepContext,
): Promise<Container> {
  const { files = [] } = start;
  try {
    const container = await engine.create(start, cpuLimit(start));
    if (files.length > 0) secretFiles.mounted();
    return container;
  } catch (error) {
    const isLost = files.some(({ source }) => error instanceof EngineError && error.message.includes(source));
    throw isLost ? secretFiles.notMounted() : error;
  }
}

/** After such an error the container may have run, or the start may still happen. */
const mayHaveStarted = (error: unknown): boolean =>
  error instanceof EngineError && (error.kind === 'unreachable' || error.kind === 'temporary');

export function execute<Kind extends StepKind>(
  step: { kind: Kind } & StepArguments[Kind],
  context: StepContext,
): Promise<Effect> {
  const executor: Executor<Kind> = executors[step.kind];
  return executor(step, context);
}
