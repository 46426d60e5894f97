import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { uploadFile } from '../../../../control-plane/web/browser/parts/file-upload.ts';
import { decodeRequest } from '../../../../shared/streams/client-messages.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { playedSocket } from '../../../support/tools/played-socket.ts';

/** An upload of this content, and the server's end of its WebSocket, which the test plays. */
function begun(content: ReadableStream<Uint8Array<ArrayBuffer>>, size: number, folder = '/srv/my data') {
  const { binaries, ...played } = playedSocket();
  const abort = new AbortController();
  const progress: number[] = [];
  const file = { name: 'grüße 世界.bin', size, stream: () => content };
  const { signal } = abort;
  const ended = uploadFile(played.socket, file, {
    folder,
    signal,
    progressed: (bytes) => progress.push(bytes),
  });
  played.fire('open');
  return {
    ...{ ...played, abort, progress, ended },
    sent: () => binaries.reduce((sum, { length }) => sum + length, 0),
  };
}

/** Pieces of a file, of which it counts those that were read. */
function pieces(count: number, bytes: number) {
  let read = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        if (read === count) return controller.close();
        read += 1;
        controller.enqueue(new Uint8Array(bytes));
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, read: () => read };
}

test('W211, W212: a file is sent within credit, read no faster than that, and whole with the exit code 0', async () => {
  const { stream, read } = pieces(10, 150_000);
  const upload = begun(stream, 1_500_000);
  const request = decodeRequest('files', upload.texts[0] ?? '');
  const file = { name: 'grüße 世界.bin', bytes: 1_500_000 };
  expect(request).toEqual({ type: 'files-in', path: '/srv/my data/', ...file });
  expect(read()).toBe(0);
  upload.server({ type: 'opened', credit: 262_144 });
  await eventually(() => expect(upload.sent()).toBe(262_144));
  expect(read()).toBe(2);
  for (let credit = 262_144; credit < 1_500_000; credit += 65_536) {
    upload.server({ type: 'credit', bytes: 65_536 });
    await eventually(() => expect(upload.sent()).toBe(Math.min(credit + 65_536, 1_500_000)));
  }
  expect(upload.progress.at(-1)).toBe(1_500_000);
  await eventually(() => expect(upload.texts.at(-1)).toBe('{"type":"end"}'));
  upload.server({ type: 'end', exit_code: 0 });
  expect(await upload.ended).toEqual({ exitCode: 0 });
});

test('W211: an upload ends once, as cancelled, unreadable, refused, or with the reason', async () => {
  const cancelled = begun(pieces(9, 9).stream, 81);
  cancelled.server({ type: 'opened', credit: 5 });
  cancelled.abort.abort();
  expect([await cancelled.ended, cancelled.socket.isClosed]).toEqual(['cancelled', true]);
  const broken = new ReadableStream({
    pull: (controller) => controller.error(new Error('NotReadableError')),
  });
  const unreadable = begun(broken, 5);
  unreadable.server({ type: 'opened', credit: 5 });
  expect([await unreadable.ended, unreadable.socket.isClosed]).toEqual(['unreadable', true]);
  expect(unreadable.texts).toHaveLength(1);
  const refused = begun(pieces(9, 9).stream, 81);
  refused.server({ type: 'opened', credit: 5 });
  refused.server({ type: 'reset', message: 'a mount' });
  expect(await refused.ended).toEqual({ reason: 'a mount' });
  const empty = begun(pieces(0, 0).stream, 0);
  empty.server({ type: 'opened', credit: 5 });
  await eventually(() => expect(empty.texts.at(-1)).toBe('{"type":"end"}'));
  empty.fire('close');
  expect(await empty.ended).toBe('lost');
});

test('W211: no progress is reported once an upload is over, which would replace how it ended', async () => {
  const cancelled = begun(pieces(9, 9).stream, 81);
  const refused = begun(pieces(9, 9).stream, 81);
  for (const upload of [cancelled, refused]) {
    upload.server({ type: 'opened', credit: 5 });
    await eventually(() => expect(upload.sent()).toBe(5));
  }
  cancelled.abort.abort();
  refused.server({ type: 'reset', message: 'a mount' });
  await Promise.all([cancelled.ended, refused.ended]);
  await nextTurn();
  expect([cancelled.progress, refused.progress]).toEqual([[], []]);
});
