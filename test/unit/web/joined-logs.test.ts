import { expect, test } from 'vitest';
import { joinedLogs } from '../../../control-plane/web/pages/executions/joined-logs.ts';
import { encodeFrame } from '../../../shared/streams/log-frames.ts';

const encoder = new TextEncoder();

test('C45: in a file of several logs, each start begins with a new line', async () => {
  const frame = (generation: number, text: string) =>
    encodeFrame({ service: 1, position: { generation, offset: 1 }, payload: encoder.encode(text) });
  const frames = [frame(1, 'cut'), frame(2, 'go'), frame(2, 'es on\n'), frame(3, 'last')];
  const open = async () => ReadableStream.from(frames);
  const text = await new Response(joinedLogs([{ name: 'web0', open }])).text();
  expect(text).toBe('==> web0 <==\ncut\ngoes on\nlast\n');
});
