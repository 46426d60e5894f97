/** Mutants of streams. Only worlds with streams reveal them. */
import type { Mutant } from './mutant.ts';

const mutantsOfStreams: readonly Mutant[] = [
  {
    name: 'send on a stream without counting its credit',
    file: 'agent/streams/stream.ts',
    from: '    this.#credit -= payload.length;\n',
    to: '',
  },
  {
    name: 'leave the streams of a lost connection open at the agent',
    file: 'agent/connection/session.ts',
    from: '    this.#streams.closeAll();\n',
    to: '',
  },
  {
    name: 'keep the permits of streams that are over',
    file: 'control-plane/coordinator/streams/stream-permits.ts',
    from: '() => this.#permits.delete(permit)',
    to: '() => {}',
  },
];

export const streamMutants: readonly Mutant[] = mutantsOfStreams.map((one) => ({ ...one, streams: true }));
