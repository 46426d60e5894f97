/**
 * A socket in front of the real engine, which makes the engine appear faulty. Never changes the engine
 * itself.
 */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `hangs`: accepts connections and answers nothing; `fails`: answers everything with 500; `loses`: creates
 * and starts containers, but loses these answers; `kills-nothing`: answers all but kills, which it never
 * begins; `refuses`: does not listen, as during a restart; `is-another`: has another id, and none of the
 * containers.
 */
export type EngineMood = 'well' | 'hangs' | 'fails' | 'loses' | 'kills-nothing' | 'refuses' | 'is-another';

const MESSAGE = '{"message":"the daemon is in trouble"}';
const FAILURE = `HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: ${MESSAGE.length}\r\nConnection: close\r\n\r\n${MESSAGE}`;

export class EngineProxy {
  readonly path: string;
  readonly #enginePath: string;
  readonly #server: Server;
  readonly #callers = new Set<Socket>();
  #mood: EngineMood = 'well';

  constructor(path: string, enginePath: string) {
    this.path = path;
    this.#enginePath = enginePath;
    this.#server = createServer((caller) => this.#take(caller));
  }

  static async open(path: string, enginePath: string): Promise<EngineProxy> {
    const proxy = new EngineProxy(path, enginePath);
    await proxy.#listen();
    return proxy;
  }

  /** Callers are disconnected, except by an engine that hangs, which leaves them waiting. */
  async become(mood: EngineMood): Promise<void> {
    const before = this.#mood;
    this.#mood = mood;
    for (const caller of this.#callers) {
      if (mood === 'hangs') caller.unpipe().pause();
      else caller.destroy();
    }
    if (mood === 'refuses') this.#server.close();
    else if (before === 'refuses') await this.#listen();
  }

  close(): void {
    for (const caller of this.#callers) caller.destroy();
    this.#server.close();
  }

  async #listen(): Promise<void> {
    await rm(this.path, { force: true });
    this.#server.listen(this.path);
    await once(this.#server, 'listening');
  }

  #take(caller: Socket): void {
    this.#callers.add(caller);
    caller.on('close', () => this.#callers.delete(caller));
    caller.on('error', () => caller.destroy());
    if (this.#mood === 'hangs') return;
    if (this.#mood === 'fails') caller.once('data', () => caller.end(FAILURE));
    else this.#pass(caller);
  }

  #pass(caller: Socket): void {
    let isLost = false;
    const engine = connect(this.#enginePath);
    caller.on('data', (bytes) => {
      const request = bytes.toString('latin1');
      isLost = this.#mood === 'loses' && /^POST \S*\/containers\//.test(request);
      if (this.#mood === 'kills-nothing' && /^POST \S*\/kill/.test(request)) return;
      engine.write(this.#mood === 'is-another' ? withoutContainers(request) : bytes);
    });
    engine.on('error', () => caller.destroy());
    caller.on('close', () => engine.destroy());
    engine.on('close', () => caller.destroy());
    engine.on('data', (bytes) => {
      if (isLost) caller.destroy();
      else if (this.#mood === 'is-another') caller.write(withOtherId(bytes));
      else if (this.#mood !== 'hangs') caller.write(bytes);
    });
  }
}

/** Asks for containers by labels that none has. All lengths stay. */
const withoutContainers = (request: string): Buffer =>
  Buffer.from(
    request.replace(/^GET \S*\/containers\/json\S*/, (line) => line.replaceAll('berth', 'other')),
    'latin1',
  );

const withOtherId = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('latin1').replace(/"ID":"..../, '"ID":"XXXX'), 'latin1');
