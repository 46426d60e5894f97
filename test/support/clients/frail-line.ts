/** A line between a client and a control plane that a test breaks. */
import { connect, createServer, type Socket } from 'node:net';
import { listenOn, portOf } from '../hosts/port.ts';

export class FrailLine {
  /** So many answers get lost: the connection ends in place of them. */
  answersToLose = 0;
  readonly #server = createServer({ noDelay: true }, (near) => this.#join(near));
  #target: URL;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#target = target;
  }

  static async to(url: string): Promise<FrailLine> {
    const line = new FrailLine(new URL(url));
    await listenOn(line.#server);
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  /** Further connections lead there. */
  lead(url: string): void {
    this.#target = new URL(url);
  }

  /** Ends all connections without a word. Further ones are possible at once. */
  break(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.#server.close();
    this.break();
  }

  #join(near: Socket): void {
    const { port, hostname } = this.#target;
    const far = connect({ port: Number(port), host: hostname, noDelay: true });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const one of [near, far]) one.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (data) => {
      if (this.answersToLose > 0) {
        this.answersToLose -= 1;
        near.resetAndDestroy();
      } else near.write(data);
    });
  }
}
