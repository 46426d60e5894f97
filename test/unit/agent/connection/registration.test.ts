import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { register } from '../../../../agent/connection/registration.ts';

const body = {
  deployment: 'test',
  name: 'node1',
  publicKey: { kty: 'OKP', crv: 'Ed25519', x: 'x' },
} as const;

test('P16: an endless answer is not read to its end, and does not count as a permanent refusal', async () => {
  const server = createServer((_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(16_384, ' ')));
    };
    response.on('drain', more);
    more();
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const error = await register(url, 'token', body).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ name: 'Error', message: expect.stringContaining('exceeds 65536 bytes') });
});
