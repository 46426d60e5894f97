/** Owns assignments for tests: a small complete one, and whatever a test changes of it. */
import type { Assignment } from '../../shared/protocol/assignment.ts';

/** The name is made of the key, so that containers of different keys never clash. */
export function assignment(changes: Partial<Assignment> = {}): Assignment {
  const { service = 1, execution = 1 } = changes;
  return {
    service,
    generation: 1,
    execution,
    name: `web${service}-${execution}-test`,
    instance: `web${service}`,
    owner: 'alice',
    image: 'berth/busybox:1',
    command: ['sleep', '1000'],
    environment: [],
    workDir: null,
    network: null,
    memoryMinBytes: null,
    memoryMaxBytes: null,
    coresMin: null,
    coresMax: null,
    shmBytes: null,
    ports: [],
    volumes: [],
    ...changes,
  };
}
