/** The heap of workerd's isolates, as its inspector reports it. */
import * as z from 'zod';

const targets = z.array(
  z.object({ title: z.string().optional(), id: z.string(), webSocketDebuggerUrl: z.string() }),
);
const usage = z.object({
  usedSize: z.number(),
  embedderHeapUsedSize: z.number(),
  backingStorageSize: z.number(),
});
const contextCreated = z.object({
  method: z.literal('Runtime.executionContextCreated'),
  params: z.object({ context: z.object({ id: z.number() }) }),
});

/** Megabytes that an isolate uses, garbage included. */
export interface HeapUsage {
  heapMb: number;
  /** What is outside the heap of V8: buffers, and objects of workerd. */
  buffersMb: number;
}

/**
 * Used megabytes of each isolate by name, after a garbage collection. `inspector` is the address that workerd
 * was given with `--inspector-addr`.
 */
export async function heapsMb(inspector: string): Promise<Map<string, number>> {
  const heaps = new Map<string, number>();
  for (const id of (await targetsOf(inspector)).keys()) {
    const isolate = await IsolateInspector.connect(inspector, id);
    await isolate.collectGarbage();
    heaps.set(id, (await isolate.usage()).heapMb);
    isolate.close();
  }
  return heaps;
}

async function targetsOf(inspector: string): Promise<Map<string, string>> {
  const found = targets.parse(await (await fetch(`http://${inspector}/json`)).json());
  return new Map(found.map(({ id, webSocketDebuggerUrl }) => [id, webSocketDebuggerUrl]));
}

/** A connection to one isolate. Calls reject once workerd has ended. */
export class IsolateInspector {
  readonly #socket: WebSocket;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #calls = 0;
  #isClosed = false;
  #context: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))));
    socket.addEventListener('close', () => {
      this.#isClosed = true;
      for (const { reject } of this.#open.values()) reject(new Error('the inspector has closed'));
      this.#open.clear();
    });
  }

  static async connect(inspector: string, isolate: string): Promise<IsolateInspector> {
    const url = (await targetsOf(inspector)).get(isolate);
    if (url === undefined) throw new Error(`workerd has no isolate ${isolate}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`${url} does not open`)));
    });
    return new IsolateInspector(socket);
  }

  async usage(): Promise<HeapUsage> {
    const used = usage.parse(await this.#call('Runtime.getHeapUsage'));
    return {
      heapMb: used.usedSize / 1e6,
      buffersMb: (used.embedderHeapUsedSize + used.backingStorageSize) / 1e6,
    };
  }

  async collectGarbage(): Promise<void> {
    await this.#call('HeapProfiler.collectGarbage');
  }

  /**
   * Fills the heap, MiB by MiB, until workerd ends or `most` MiB are held. Resolves to the megabytes that the
   * isolate could still hold.
   */
  async fill(most: number): Promise<number> {
    await this.#call('Runtime.enable');
    const expression = '(globalThis.filling ??= []).push(new Array(2 ** 17).fill(0.5)); 0';
    for (let mib = 0; mib < most; mib++) {
      const filled = await this.#call('Runtime.evaluate', { contextId: this.#context, expression }).catch(
        (error: unknown) => {
          if (this.#isClosed) return undefined;
          throw error;
        },
      );
      if (filled === undefined) return (mib * 2 ** 20) / 1e6;
    }
    return (most * 2 ** 20) / 1e6;
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error('the inspector has closed'));
    const id = ++this.#calls;
    const call = Promise.withResolvers<unknown>();
    this.#open.set(id, call);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return call.promise;
  }

  #receive(message: { id?: number; result?: unknown; error?: { message: string } }): void {
    const created = contextCreated.safeParse(message);
    if (created.success) this.#context ??= created.data.params.context.id;
    const call = this.#open.get(message.id ?? 0);
    if (!call) return;
    this.#open.delete(message.id ?? 0);
    if (message.error) call.reject(new Error(message.error.message));
    else call.resolve(message.result);
  }
}
