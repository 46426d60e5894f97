/** Requests of users to control planes, which may be killed before they answer. */
import type { CoordinatorApi } from '../../../../control-plane/coordinator/coordinator-api.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import type { World } from '../world/time.ts';
import type { ControlPlane } from './control-plane.ts';

export interface RequestOptions {
  changes?: boolean;
  /** Called when the only control plane refuses the request. */
  refused?(error: OperationError): void;
}

export class Requests {
  readonly #world: World;
  readonly #servers: () => readonly ControlPlane[];

  /** `servers` returns the control planes that exist at the time. */
  constructor(world: World, servers: () => readonly ControlPlane[]) {
    this.#world = world;
    this.#servers = servers;
  }

  /** Sends one request. `answered` is called when the answer leaves a control plane that is still alive. */
  async send<T>(
    what: string,
    call: (coordinator: CoordinatorApi, server: ControlPlane) => Promise<T>,
    answered: (value: T, server: ControlPlane) => void,
    { changes = true, refused }: RequestOptions = {},
  ): Promise<void> {
    const world = this.#world;
    const all = this.#servers().filter(({ isQuiet }) => !isQuiet || !changes);
    world.note(`${what}, to ${all.map(({ name }) => name).join(' or ') || 'no control plane'}`);
    if (all.length === 0) return world.count('request: no control plane');
    const active = all.filter(({ isWaiting }) => !isWaiting);
    const server = world.pick(active.length > 0 ? active : all);
    await world.pause(world.between(1, 10));
    const { process, coordinator } = server;
    if (!process.alive) return;
    await world
      .enter(process, () => call(coordinator, server))
      .then(
        (value) => {
          if (!process.alive) return;
          world.note(`${what}: answered ${typeof value === 'object' ? '' : value}`);
          answered(value, server);
        },
        (error: unknown) => {
          if (!process.alive) return;
          if (!(error instanceof OperationError)) return world.violate(`${what}: ${error}`);
          world.count(`request: ${error.code}`);
          if (all.length === 1) refused?.(error);
          world.note(`${what}: ${error.code}`);
        },
      );
  }
}
