/** Mutants of streams. Only worlds with streams reveal them. */
import type { Mutant } from './mutant.ts';

const mutantsOfStreams: readonly Mutant[] = [
  {
    name: 'send on a stream without counting its credit',
    file: 'agent/channels/target-channel.ts',
    from: '      credit.use(payload.length);\n',
    to: '',
  },
  {
    name: 'leave the streams of a lost connection open at the agent',
    file: 'agent/connection/session.ts',
    from: '    this.#channels.closeAll();\n',
    to: '',
  },
  {
    name: 'keep the placements of streams that are over',
    file: 'control-plane/coordinator/streams/placements.ts',
    from: '() => this.#streams.delete(placement)',
    to: '() => {}',
  },
  {
    name: 'keep the placement of a reader whose socket has closed',
    file: 'control-plane/coordinator/streams/remote-placement.ts',
    from: 'closed: leave };',
    to: 'closed: () => {} };',
  },
  {
    name: 'let the streams of a session go on after its end',
    inShortForm: true,
    file: 'control-plane/coordinator/streams/placements.ts',
    from: '      if (refusal !== undefined) this.#revoke(placement, refusal);\n',
    to: '',
  },
  {
    name: 'leave the clients of a lost connection without an end',
    file: 'control-plane/coordinator/connections/agent-connection.ts',
    from: '    for (const sink of sinks) sink.detached();\n',
    to: '',
  },
  {
    name: 'pass on what a client sends beyond its credit',
    file: 'control-plane/coordinator/streams/stream-relay.ts',
    from: 'bytes.length > this.#channel.mayWrite',
    to: 'false',
  },
  {
    name: 'grant what was taken without counting it',
    file: 'shared/streams/window.ts',
    from: '    this.#credit += grant;\n',
    to: '',
  },
  {
    name: 'read what an application sends in another order',
    file: 'control-plane/coordinator/streams/agent-pipe.ts',
    from: '    this.#chunks.push(bytes);\n',
    to: '    this.#chunks.unshift(bytes);\n',
  },
  {
    name: 'end a channel before the last part of its last piece',
    inShortForm: true,
    file: 'agent/channels/target-channel.ts',
    from: 'isLast: isLast && from === bytes.length',
    to: 'isLast',
  },
  {
    name: 'report what broke off as whole',
    file: 'agent/channels/channels.ts',
    from: "send({ type: 'channel.reset', channel: number, refused, message: messageOf(error) });",
    to: "send({ type: 'channel.end', channel: number, exitCode: 0 });",
  },
  {
    name: 'take an answer for whole whose last bytes were given up',
    file: 'control-plane/coordinator/streams/agent-pipe.ts',
    from: ' && !this.#isCut;',
    to: ';',
  },
  {
    name: 'let the requests of a session go on after its end',
    file: 'control-plane/coordinator/apps/app-permits.ts',
    from: '    for (const pipe of [...this.#pipes]) pipe.close(reason.message);\n',
    to: '',
  },
  {
    name: 'ignore that a chunk is the last one',
    file: 'control-plane/coordinator/connections/open-channels.ts',
    from: "      if (isLast) this.receive({ type: 'channel.end', channel });\n",
    to: '',
  },
  {
    name: 'report a copy as complete before the container has the file',
    file: 'agent/engine/streams/copy-in.ts',
    from: 'await Promise.race([ended, feed().then(() => ended)]);',
    to: 'await Promise.race([ended, feed()]);',
  },
  {
    name: 'take a copy for whole whose command has failed',
    file: 'agent/engine/streams/copy-out.ts',
    from: '  }\n  await command.assertDone();\n',
    to: '  }\n',
  },
];

export const streamMutants: readonly Mutant[] = mutantsOfStreams.map((one) => ({ ...one, streams: true }));
