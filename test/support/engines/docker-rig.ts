/**
 * DockerEngine on the real engine, for tests of its port: a new one for each test, which leaves nothing
 * behind.
 */
import type Docker from 'dockerode';
import { afterEach, beforeEach } from 'vitest';
import type { DockerEngineOptions } from '../../../agent/engine/docker/docker-engine.ts';
import { DockerEngine } from '../../../agent/engine/docker/docker-engine.ts';
import type { Container, Engine, EngineError } from '../../../agent/engine/engine.ts';
import { connectEngine, DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { assignment as plain } from '../fixtures/assignments.ts';
import { testFolder } from '../tools/test-folder.ts';

/** `streams`: the client for streams, which may be silent for long; `registries`: besides the public ones. */
type Changes = Partial<
  DockerEngineOptions & { docker: Docker; streams: Docker; stallMs: number; registries: string[] }
>;

/** Those of an agent with the default settings, for tests that do not concern them. They pull no images. */
export const engineOptions = {
  host: 'node1',
  local: true,
  reservedOf: () => 0,
  logMaxBytes: 2 ** 30,
  volumeRoots: [],
  workspaceRoot: null,
  network: null,
  networks: [],
  overlay: true,
  bind: null,
  capabilities: [],
  etcFiles: 'read-only',
  runAs: 'image',
  subnets: [{ first: 0xc6120000, bits: 15 }],
  pull: { env: {}, registries: [], stallMs: 1, progressEveryMs: 1, retryMs: 1 },
  images: { file: '/dev/null/images.json', log: () => {}, nowMs: Date.now },
  intentsFile: '/dev/null/pulls.json',
} satisfies Omit<DockerEngineOptions, 'deployment'>;

/** CPU limit of containers in tests that do not concern the limit. */
export const CPU_LIMIT = 1;

/** Registers the hooks before and after each test of a file. `name` must be unique to the file. */
export function dockerRig(name: string) {
  const host = process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET);
  const docker = connectEngine(host);
  const deployment = `${name}${process.pid}`;
  let engine: DockerEngine;
  let scratch: string;

  const makeEngine = ({
    docker: own = docker,
    streams = own === docker ? connectEngine(host) : own,
    stallMs = 10_000,
    registries = [],
    ...changes
  }: Changes = {}) =>
    new DockerEngine(own, streams, {
      deployment,
      ...engineOptions,
      local: socketOf(host) !== undefined,
      pull: {
        env: { DOCKER_CONFIG: '/nowhere' },
        registries: ['public', ...registries],
        stallMs,
        progressEveryMs: 0,
        retryMs: 1,
      },
      images: { file: `${scratch}/images.json`, log: () => {}, nowMs: Date.now },
      intentsFile: `${scratch}/pulls.json`,
      ...changes,
    });
  /** The name is unique to this run, so that it conflicts with no other. */
  const assignment = (changes: Partial<Assignment> = {}) =>
    plain({ name: `web${changes.service ?? 1}-${deployment}`, ...changes });

  beforeEach(async () => {
    scratch = await testFolder();
    engine = makeEngine();
    await engine.facts();
  });
  afterEach(async () => {
    for (const { id } of await engine.list()) await engine.remove(id);
    await engine.removeUnused(0);
  });

  return {
    docker,
    deployment,
    /** The engine of the current test. */
    engine: () => engine,
    /** A folder of the current test. */
    scratch: () => scratch,
    makeEngine,
    assignment,
    async run(changes: Partial<Assignment> = {}, on: Engine = engine): Promise<Container> {
      const wanted = assignment(changes);
      return on.start(wanted, (await on.create(wanted, CPU_LIMIT)).id, CPU_LIMIT, true);
    },
    /** Waits for the end of a container. */
    async exitOf(id: string): Promise<Extract<Container, { state: 'exited' }>> {
      await docker.getContainer(id).wait();
      const seen = await engine.inspect(id);
      if (seen?.state !== 'exited') throw new Error(`the container is ${seen?.state}`);
      return seen;
    },
  };
}

export const errorOf = (call: Promise<unknown>): Promise<EngineError> =>
  call.then(
    () => Promise.reject('no error'),
    (error) => error,
  );
