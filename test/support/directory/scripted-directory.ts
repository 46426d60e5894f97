/** A directory on loopback that answers as a test says, in bytes that no proper directory sends. */
import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Directory, openDirectory } from '../../../control-plane/directory/ldap-directory.ts';
import type { LdapConfig } from '../../../control-plane/directory/ldap-settings.ts';
import { listenOn, portOf } from '../hosts/port.ts';

/** First byte of the operation in a message. */
export const REQUEST = { bind: 0x60, search: 0x63, extended: 0x77 } as const;
export const RESPONSE = { bind: 0x61, entry: 0x64, searchDone: 0x65, extended: 0x78 } as const;

/** A request: its id, its operation, and where to write the answer. */
export interface Asked {
  id: number;
  operation: number;
  socket: Socket;
}

export class ScriptedDirectory {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly asked: number[] = [];
  received = Buffer.alloc(0);

  private constructor(server: Server, answer: (asked: Asked) => void) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (bytes: Buffer) => {
        this.received = Buffer.concat([this.received, bytes]);
        // Requests of these tests are short: the length is one byte, and so is the id.
        const [id = 0, operation = 0] = [bytes[4], bytes[5]];
        this.asked.push(operation);
        answer({ id, operation, socket });
      });
    });
  }

  /** One that stops with the test. */
  static async start(answer: (asked: Asked) => void): Promise<ScriptedDirectory> {
    const server = createServer();
    await listenOn(server);
    const directory = new ScriptedDirectory(server, answer);
    onTestFinished(() => directory.stop());
    return directory;
  }

  get url(): string {
    return `ldap://127.0.0.1:${portOf(this.#server)}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** What Berth makes of a directory in these settings, until the end of the test. */
export async function opened(
  config: LdapConfig | undefined,
  log: Parameters<typeof openDirectory>[1],
): Promise<Directory> {
  if (!config) throw new Error('no directory');
  const directory = await openDirectory(config, log);
  onTestFinished(() => directory.close());
  return directory;
}

/** Tag, length and content, as BER. */
export function ber(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const length =
    content.length < 128
      ? Buffer.from([content.length])
      : Buffer.from([0x83, content.length >> 16, (content.length >> 8) & 255, content.length & 255]);
  return Buffer.concat([Buffer.from([tag]), length, content]);
}

const integer = (value: number): Buffer => ber(0x02, Buffer.from([value]));

/** A response with a result code. */
export const result = (id: number, operation: number, code = 0, more: Buffer = Buffer.alloc(0)): Buffer =>
  ber(0x30, integer(id), ber(operation, ber(0x0a, Buffer.from([code])), ber(0x04), ber(0x04), more));

/** An entry without attributes. */
export const entry = (id: number, dn: string): Buffer =>
  ber(0x30, integer(id), ber(RESPONSE.entry, ber(0x04, dn), ber(0x30)));

export const reference = (id: number, url: string): Buffer =>
  ber(0x30, integer(id), ber(0x73, ber(0x04, url)));
