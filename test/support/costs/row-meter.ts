/** A proxy before a libSQL server that adds up the rows that the server says it has read and written. */
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOn } from '../hosts/port.ts';

export async function startRowMeter(target: string) {
  const rows = { read: 0, written: 0 };
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    const { authorization, 'content-type': type = 'application/json' } = headers;
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: { 'content-type': type, ...(authorization === undefined ? {} : { authorization }) },
      ...(body.length > 0 ? { body } : {}),
    });
    const text = await answer.text();
    rows.read += sumOf(text, 'rows_read');
    rows.written += sumOf(text, 'rows_written');
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${await listenOn(server)}`, rows, close };
}

const sumOf = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`"${name}":(\\d+)`, 'g'))].reduce((sum, [, count]) => sum + Number(count), 0);
