/**
 * Passes connections on to a port of this machine, and delays every byte by some time each way. Prints its
 * port.
 */
import { connect, createServer, type Socket } from 'node:net';

const [, , targetPort = '', delayMs = ''] = process.argv;

const server = createServer({ noDelay: true }, (outer) => {
  const inner = connect({ port: Number(targetPort), host: '127.0.0.1', noDelay: true });
  delayed(outer, inner);
  delayed(inner, outer);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`port ${typeof address === 'object' ? address?.port : ''}`);
});

function delayed(from: Socket, to: Socket): void {
  const later = (run: () => void) => setTimeout(run, Number(delayMs));
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
}
