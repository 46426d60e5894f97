/** Relay: a program on a cluster's network that passes connections on to it. door.ts starts the relay. */
import { connect, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** Destination of the connections of the server that is sent with it. */
export interface Target {
  host: string;
  port: number;
}

process.on('message', (target: Target, server: Server) => {
  server.on('connection', (outer: Socket) => {
    const inner = connect(target);
    // If one side breaks off, the pipeline closes the other; nothing else must be done.
    pipeline(outer, inner, () => {});
    pipeline(inner, outer, () => {});
  });
});
process.on('disconnect', () => process.exit());
