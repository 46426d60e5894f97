/**
 * The Worker with objects that a test can kill: a POST to /abort/<name of the object> makes it lose its
 * memory, as the runtime may at any moment. Requests that name an application of a test are relayed to it as
 * if they were authorised. Everything else is the Worker itself.
 */
import { forwardApp } from '../../../../../control-plane/coordinator/runtime/apps/gateway-apps.ts';
import { OperationError } from '../../../../../control-plane/core/model/errors.ts';
import worker, {
  CoordinatorObject as Coordinator,
  GatewayObject as Gateway,
} from '../../../../../control-plane/worker.ts';
import { appRequest, isForApp } from '../../../apps/app-request.ts';

type MortalEnv = Parameters<typeof worker.fetch>[1] & {
  COORDINATOR: DurableObjectNamespace<CoordinatorObject>;
  GATEWAY: DurableObjectNamespace<GatewayObject>;
};

const ABORT_PATH = '/abort/';

export class CoordinatorObject extends Coordinator {
  abort(): void {
    this.ctx.abort('killed by a test');
  }
}

export class GatewayObject extends Gateway {
  abort(): void {
    this.ctx.abort('killed by a test');
  }
}

export default {
  async fetch(request: Request, env: MortalEnv, ctx: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (isForApp(request)) return relayed(request, env);
    if (!pathname.startsWith(ABORT_PATH)) return worker.fetch(request, env, ctx);
    const name = decodeURIComponent(pathname.slice(ABORT_PATH.length));
    const { GATEWAY, COORDINATOR } = env;
    const stub = name.includes('/gateway-')
      ? GATEWAY.get(GATEWAY.idFromName(name))
      : COORDINATOR.get(COORDINATOR.idFromName(name));
    // The call ends with the object.
    await stub.abort().catch(() => {});
    return new Response(null, { status: 204 });
  },
};

async function relayed(request: Request, { GATEWAY }: MortalEnv): Promise<Response> {
  try {
    const gateway = GATEWAY.get(GATEWAY.idFromName('mortal/gateway-0'));
    const relayed = await forwardApp(gateway, appRequest(request), request, false);
    return relayed?.respond(relayed.headers) ?? new Response('no permit is alive', { status: 500 });
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return new Response(error.message, { status: error.code === 'unavailable' ? 503 : 400 });
  }
}
