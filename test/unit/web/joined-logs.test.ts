import { expect, test } from 'vitest';
import { encodeFrame } from '../../../control-plane/core/streams/log-frames.ts';
import { joinedLogs } from '../../../control-plane/web/pages/executions/joined-logs.ts';

const encoder = new TextEncoder();

test('C45: in a file of several logs, each start begins with a new line', async () => {
  const frames = (
    [
      [1, 'cut'],
      [2, 'go'],
      [2, 'es on\n'],
      [3, 'last'],
    ] as const
  ).map(([generation, text]) =>
    encodeFrame({ service: 1, position: { generation, offset: 1 }, payload: encoder.encode(text) }),
  );
  const open = async () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const frame of frames) controller.enqueue(frame);
        controller.close();
      },
    });
  const text = await new Response(joinedLogs([{ name: 'web0', open }])).text();
  expect(text).toBe('==> web0 <==\ncut\ngoes on\nlast\n');
});
