/** Starts the bare relay (programs/bare-relay/), which carries HTTP to a container as Berth does. */
import { startProgram } from '../../test/support/hosts/process.ts';
import { startLimitedWorkerd } from '../../test/support/hosts/workerd/limited-workerd.ts';

const FOLDER = 'tools/bench/programs/bare-relay';

/** `target`: where the container listens. Resolves once the agent is connected. */
export async function startBareRelay(
  kind: 'Node' | 'workerd',
  target: { address: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  await using stack = new AsyncDisposableStack();
  const port = kind === 'Node' ? await startServer(stack) : await startWorker(stack);
  const url = `ws://127.0.0.1:${port}/`;
  const agent = startProgram([`${FOLDER}/agent.ts`, url, target.address, String(target.port)]);
  stack.defer(() => agent.kill());
  await agent.waitFor(/^connected$/m);
  const running = stack.move();
  return { port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function startServer(stack: AsyncDisposableStack): Promise<number> {
  const server = startProgram([`${FOLDER}/server.ts`]);
  stack.defer(() => server.kill());
  const [, port] = await server.waitFor(/^port (\d+)$/m);
  return Number(port);
}

/** As the Worker of Berth is started. */
async function startWorker(stack: AsyncDisposableStack): Promise<number> {
  const options = { entry: `${FOLDER}/worker.ts`, readyPath: undefined };
  const workerd = await startLimitedWorkerd([], {}, options);
  stack.defer(() => workerd.stop());
  return Number(new URL(workerd.url()).port);
}
