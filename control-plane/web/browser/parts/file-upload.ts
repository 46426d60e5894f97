/**
 * Uploads one file into a folder of a service (P266): no faster than the service takes it, and never with
 * more of the file in memory than one piece. Never touches the page.
 */
import { ServiceStream, type StreamEnd, type StreamSocket } from './service-stream.ts';

/** At the most so much is handed to the stream at a time. */
const PIECE_BYTES = 64 * 1024;

/** `unreadable`: the file has changed or is gone since it was chosen. */
export type UploadEnd = StreamEnd | 'cancelled' | 'unreadable';

export interface UploadOptions {
  /** An absolute path. */
  folder: string;
  /** Cancels the upload, which leaves nothing in the service. */
  signal: AbortSignal;
  /** So many bytes were sent. */
  progressed(bytes: number): void;
}

/** Resolves once the upload is over: with the exit code 0 if the whole file has its name in the folder. */
export function uploadFile(
  socket: StreamSocket,
  file: Pick<File, 'name' | 'size' | 'stream'>,
  { folder, signal, progressed }: UploadOptions,
): Promise<UploadEnd> {
  return new Promise((resolve) => {
    const opening = {
      type: 'files-in' as const,
      // Without the slash, a folder that does not exist would be the name of the file.
      path: folder.endsWith('/') ? folder : `${folder}/`,
      name: file.name,
      bytes: file.size,
    };
    const stream = new ServiceStream(socket, opening, {
      opened: () => void sendFile(stream, file, progressed).catch(() => stop('unreadable')),
      output: (_, used) => used(),
      ended: resolve,
    });
    const stop = (end: UploadEnd) => {
      stream.close();
      resolve(end);
    };
    signal.addEventListener('abort', () => stop('cancelled'), { once: true });
  });
}

/** Throws if the file can't be read. */
async function sendFile(
  stream: ServiceStream,
  file: Pick<File, 'stream'>,
  progressed: (bytes: number) => void,
): Promise<void> {
  const reader = file.stream().getReader();
  let sent = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      for (let from = 0; from < next.value.length; from += PIECE_BYTES) {
        const piece = next.value.subarray(from, from + PIECE_BYTES);
        if (!stream.write(piece) || !(await stream.sent())) return;
        sent += piece.length;
        progressed(sent);
      }
    stream.finish();
  } finally {
    void reader.cancel().catch(() => {});
  }
}
