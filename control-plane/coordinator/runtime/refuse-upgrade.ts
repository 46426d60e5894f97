/** Answers an upgrade request on Node that is refused. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Closes the connection after the response, even if the client leaves its end open. */
export async function refuseUpgrade(stream: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const reason = response.headers.get('status') ?? STATUS_CODES[response.status];
  const head = `HTTP/1.1 ${response.status} ${reason}\r\n${headers}`;
  stream.write(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n`);
  stream.end(body, () => stream.destroy());
}
