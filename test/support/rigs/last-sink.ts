/** The sink of the channel that was opened last, to which a test sends as the agent would. */
import type {
  ChannelPort,
  ChannelSink,
} from '../../../control-plane/coordinator/connections/open-channels.ts';

export function lastSink(channels: ChannelPort): () => ChannelSink {
  const { open } = channels;
  let last: ChannelSink | undefined;
  channels.open = (...args) => {
    last = args[3];
    return open.apply(channels, args);
  };
  return () => {
    if (!last) throw new Error('no channel was opened');
    return last;
  };
}
