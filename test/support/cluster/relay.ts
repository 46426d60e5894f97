/** The program that runs on a network of a cluster and passes connections on to it. door.ts starts it. */
import { connect, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** Where the connections of the server go that comes with it. */
export interface Target {
  host: string;
  port: number;
}

process.on('message', (target: Target, server: Server) => {
  server.on('connection', (outer: Socket) => {
    const inner = connect(target);
    // One that breaks off takes the other with it: that is all there is to do.
    pipeline(outer, inner, () => {});
    pipeline(inner, outer, () => {});
  });
});
process.on('disconnect', () => process.exit());
