/**
 * Passes connections on to an address, as a link does: every byte is late by some time, and so many megabytes
 * pass in a second at most, each way. Arguments: address and port, milliseconds, and MB/s unless the link has
 * no bound. Prints its port.
 */
import { connect, createServer, type Socket } from 'node:net';

const [, , host = '', targetPort = '', delay = '', rate = 'Infinity'] = process.argv;
const delayMs = Number(delay);
const bytesPerMs = Number(rate) * 1e3;
/** What the link holds: as much as it carries in a round trip. */
const heldBytes = 2 * delayMs * bytesPerMs;

const server = createServer({ noDelay: true }, (outer) => {
  const inner = connect({ port: Number(targetPort), host, noDelay: true });
  delayed(outer, inner);
  delayed(inner, outer);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`port ${typeof address === 'object' ? address?.port : ''}`);
});

function delayed(from: Socket, to: Socket): void {
  const link: { dueMs: number; chunk: Buffer | undefined }[] = [];
  let freeMs = 0;
  let held = 0;
  const enter = (chunk?: Buffer) => {
    const bytes = chunk?.length ?? 0;
    freeMs = Math.max(freeMs, performance.now()) + bytes / bytesPerMs;
    held += bytes;
    if (held >= heldBytes) from.pause();
    if (link.push({ dueMs: freeMs + delayMs, chunk }) === 1) setTimeout(leave, delayMs);
  };
  const leave = () => {
    for (let next = link[0]; next; next = link[0]) {
      const earlyMs = next.dueMs - performance.now();
      if (earlyMs > 0) return void setTimeout(leave, earlyMs);
      link.shift();
      const { chunk } = next;
      if (chunk) to.write(chunk, () => left(chunk.length));
      else to.end();
    }
  };
  const left = (bytes: number) => {
    held -= bytes;
    if (held < heldBytes) from.resume();
  };
  from.on('data', enter);
  from.on('end', () => enter());
  from.on('error', () => to.destroy());
}
