/** The program that listens on a network of its own and hands its servers out, where their connections are taken. quiet-network.ts starts it. */
import { createServer } from 'node:net';

process.on('message', (port: number) => {
  const server = createServer().listen(port, '127.0.0.1', () => {
    // The other side has it then; of what both have, either would take connections.
    process.send?.({ port }, server, undefined, () => server.close());
  });
});
process.on('disconnect', () => process.exit());
