/**
 * Listens in a network namespace and hands its servers to the parent process, which accepts their
 * connections. Started by quiet-network.ts.
 */
import { createServer } from 'node:net';

process.on('message', ({ port, host }: { port: number; host: string }) => {
  const server = createServer().listen(port, host, () => {
    // The parent holds the server now; two holders would compete for connections.
    process.send?.({ port }, server, undefined, () => server.close());
  });
});
process.on('disconnect', () => process.exit());
