/**
 * Opens connections that send half a head each, from one address, and opens each again some seconds after it
 * was closed. Prints `open` once all have been opened.
 */
import { connect } from 'node:net';
import type { HalfOpenLoad } from '../groups/connections.ts';

const { port, address, connections } = JSON.parse(process.argv[2] ?? '') as HalfOpenLoad;
/** Connections made at a time at the beginning. */
const AT_ONCE = 200;
const AGAIN_MS = 5_000;

let opened = 0;
for (let lane = 0; lane < AT_ONCE; lane++) openNext();

function openNext(): void {
  if (opened >= connections) return;
  open(() => {
    opened++;
    if (opened === connections) console.log('open');
    else if (opened <= connections - AT_ONCE) openNext();
  });
}

/** Calls `tried` once the attempt has succeeded or failed. */
function open(tried: () => void): void {
  const socket = connect({ port, host: '127.0.0.1', localAddress: address });
  let connected = false;
  socket.once('connect', () => {
    connected = true;
    socket.write('GET /api/0.7/info HTTP/1.1\r\nHost: b');
    tried();
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    if (!connected) tried();
    setTimeout(() => open(() => {}), AGAIN_MS);
  });
  socket.resume();
}
