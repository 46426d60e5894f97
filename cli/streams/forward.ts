/** `berth forward`: listens on loopback, and carries each connection to a port of a service. */
import { createServer, type Server, type Socket } from 'node:net';
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { placeOf } from '../inputs/arguments.ts';
import { Exit, INTERRUPTED } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { serviceAt } from './place.ts';

const PORTS = /^(?:(\d{1,5}):)?(\d{1,5})$/;
const MAX_PORT = 65_535;

export function addForwardCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('forward <id> <ports>')
    .description('Listen on this machine, and carry connections to a port of a running service (ID/SERVICE)')
    .action((given: string, ports: string) => forward(terminal, connect, given, ports));
}

/** A local port and the port of the service. The local one may be 0, for any. Throws for any other text. */
function portsOf(text: string): { local: number; port: number } {
  const [, local, remote] = PORTS.exec(text) ?? [];
  const port = Number(remote);
  const listen = local === undefined ? port : Number(local);
  if (remote !== undefined && port >= 1 && port <= MAX_PORT && listen <= MAX_PORT)
    return { local: listen, port };
  throw new Error(`${text} is not a port; give one such as 8080, or 9000:8080 to listen on 9000.`);
}

async function forward(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: string,
  text: string,
): Promise<void> {
  const { local, port } = portsOf(text);
  const berth = await connect();
  await assertNotEnded(berth, placeOf(given).id);
  const service = await serviceAt(berth, given);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    carry(berth, service, port, socket).catch((error: Error) => {
      terminal.say(error.message);
      socket.destroy();
    });
  });
  const heard = await listening(server, local);
  terminal.say(`Listening on 127.0.0.1:${heard}, which leads to port ${port} of ${given}. End with Ctrl-C.`);
  await new Promise((resolve) => terminal.interrupted().addEventListener('abort', resolve));
  server.close();
  for (const socket of sockets) socket.destroy();
  throw new Exit(INTERRUPTED);
}

/** An execution that waits may get its ports yet. */
async function assertNotEnded(berth: Berth, id: number): Promise<void> {
  const { status } = await berth.execution(id);
  if (status === 'terminated' || status === 'error')
    throw new Error(`Execution ${id} has ended (${status}), and its services have no ports any more.`);
}

async function carry(berth: Berth, service: number, port: number, socket: Socket): Promise<void> {
  socket.on('error', () => socket.destroy());
  const stream = await berth.forward(service, port);
  socket.on('close', () => stream.close());
  const up = (async () => {
    for await (const bytes of socket) await stream.write(bytes as Buffer);
    stream.end();
  })().catch(() => stream.close());
  for await (const bytes of stream.output())
    if (!socket.write(bytes))
      await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
  socket.end();
  await up;
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`Port ${port} is in use on this machine: give another one, as in 9000:${port}.`)
          : error,
      ),
    );
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : port);
    });
  });
}
