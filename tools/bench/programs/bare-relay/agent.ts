/**
 * The agent of the bare relay: connects to the server (server.ts or worker.ts), and passes the requests that
 * come over this WebSocket on to a container's address. Arguments: URL of the server, address and port.
 */
import { Agent, type ClientRequest, request as requestOf } from 'node:http';
import { WebSocket } from 'ws';
import { maskOptions } from '../../../../shared/streams/masks.ts';
import { Bodies } from './bodies.ts';
import { decode, encode, jsonBytes, jsonOf, kinds, passed, type RequestHead } from './frames.ts';

const [, , url = '', host = '', port = ''] = process.argv;
const agent = new Agent({ keepAlive: true });
const open = new Map<number, { bodies: Bodies; sent: ClientRequest }>();

const socket = new WebSocket(url, { perMessageDeflate: false, ...maskOptions(new URL(url)) });
socket.on('open', () => console.log('connected'));
socket.on('message', (data: Buffer) => {
  const frame = decode(data);
  const { bodies, sent } = open.get(frame.request) ?? {};
  if (frame.kind === kinds.head) begin(frame.request, jsonOf(frame.bytes));
  else if (sent) bodies?.receive(frame, sent);
});

function begin(request: number, { method, path, headers }: RequestHead): void {
  const bodies = new Bodies((kind, bytes) => socket.send(encode(kind, request, bytes)));
  const sent = requestOf({ host, port, agent, method, path, headers: headers.flat() });
  open.set(request, { bodies, sent });
  sent.on('response', (answer) => {
    const head = { status: answer.statusCode, headers: passed(Object.entries(answer.headers)) };
    socket.send(encode(kinds.head, request, jsonBytes(head)));
    bodies.sendFrom(answer);
    answer.on('close', () => open.delete(request));
  });
}
