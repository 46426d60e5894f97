/** The heap of workerd's isolates, as its inspector reports it. */
import * as z from 'zod';

const targets = z.array(
  z.object({ title: z.string().optional(), id: z.string(), webSocketDebuggerUrl: z.string() }),
);
const usage = z.object({ result: z.object({ usedSize: z.number() }) });

/**
 * Used megabytes of each isolate by name, after a garbage collection. `inspector` is the address that workerd
 * was given with `--inspector-addr`.
 */
export async function heapsMb(inspector: string): Promise<Map<string, number>> {
  const found = targets.parse(await (await fetch(`http://${inspector}/json`)).json());
  const heaps = new Map<string, number>();
  for (const { id, webSocketDebuggerUrl } of found) {
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    await call(socket, 1, 'HeapProfiler.collectGarbage');
    const { result } = usage.parse(await call(socket, 2, 'Runtime.getHeapUsage'));
    socket.close();
    heaps.set(id, result.usedSize / 1e6);
  }
  return heaps;
}

function call(socket: WebSocket, id: number, method: string): Promise<unknown> {
  return new Promise((resolve) => {
    const listen = ({ data }: MessageEvent) => {
      const message = JSON.parse(String(data)) as { id?: number };
      if (message.id !== id) return;
      socket.removeEventListener('message', listen);
      resolve(message);
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method }));
  });
}
