/**
 * The limit of web applications on Node: an HTTP server that passes each request on over the one WebSocket of
 * an agent (agent.ts), as a control plane does. It authorises nothing and expects no failures. Prints its
 * port.
 */
import { createServer, type ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { listenOn } from '../../../../test/support/hosts/port.ts';
import { Bodies } from './bodies.ts';
import { type AnswerHead, decode, encode, jsonBytes, jsonOf, kinds, passed } from './frames.ts';

const open = new Map<number, { bodies: Bodies; response: ServerResponse }>();
let agent: WebSocket | undefined;
let last = 0;

const server = createServer((incoming, response) => {
  const request = ++last;
  const bodies = new Bodies((kind, bytes) => agent?.send(encode(kind, request, bytes)));
  open.set(request, { bodies, response });
  response.on('close', () => open.delete(request));
  const { method, url: path, headers } = incoming;
  const head = { method, path, headers: passed(Object.entries(headers)) };
  agent?.send(encode(kinds.head, request, jsonBytes(head)));
  bodies.sendFrom(incoming);
});

new WebSocketServer({ server }).on('connection', (socket) => {
  agent = socket;
  socket.on('message', (data: Buffer) => {
    const frame = decode(data);
    const { bodies, response } = open.get(frame.request) ?? {};
    if (frame.kind === kinds.head) {
      const { status, headers }: AnswerHead = jsonOf(frame.bytes);
      response?.writeHead(status, headers.flat());
    } else if (response) bodies?.receive(frame, response);
  });
});

console.log(`port ${await listenOn(server)}`);
