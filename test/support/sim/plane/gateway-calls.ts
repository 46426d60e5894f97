/**
 * Calls between gateways and coordinators, as RPC between Durable Objects: they may be late, fail with or
 * without effect, arrive twice, or hang. Their random choices are apart from those of the world, so that a
 * world without gateways does not depend on them.
 */
import type {
  ObjectSocket,
  SocketEvents,
} from '../../../../control-plane/coordinator/connections/object-socket.ts';
import { Choices, seededRandom } from '../../tools/random.ts';
import { ifAlive, type Process, type World } from '../world/time.ts';
import { ObjectSockets } from './object-socket.ts';

export type CallFault = 'late' | 'lost' | 'answer lost' | 'doubled' | 'hanging';

const SECOND_MS = 1_000;

export class GatewayCalls extends Choices {
  /** How often a call has each fault, from 0 to 1. */
  readonly faults = new Map<CallFault, number>();
  readonly #world: World;

  constructor(world: World, seed: number) {
    super(seededRandom(seed ^ 0x5ca1ab1e));
    this.#world = world;
  }

  /** Calls `run` in the process that `target` returns when the call arrives. */
  call<T>(
    from: Process | undefined,
    target: () => Process | undefined,
    run: () => T | Promise<T>,
  ): Promise<T> {
    return ifAlive(from, this.#call(target, run));
  }

  /**
   * Opens a socket from a process to the one that `target` returns. `serve` returns what to do when something
   * arrives there, or answers without a socket.
   */
  async dial(
    from: Process,
    target: () => Process | undefined,
    events: SocketEvents,
    serve: (socket: ObjectSocket) => Promise<SocketEvents | 'full' | undefined>,
  ): Promise<ObjectSocket | 'full' | undefined> {
    let sockets: ObjectSockets | undefined;
    const open = async () => {
      const process = target();
      // The runtime repeats no request for a socket.
      if (sockets || !process) return undefined;
      const pair = new ObjectSockets(this.#world, from, process, events);
      sockets = pair;
      const served = await serve(pair.server);
      if (!served || served === 'full') {
        pair.close();
        return served;
      }
      pair.serve(served);
      return pair.reader;
    };
    try {
      return await this.call(from, target, () => {
        const answer = open();
        // It may fail before the answer has arrived.
        answer.catch(() => {});
        return answer;
      });
    } catch (error) {
      sockets?.close();
      throw error;
    }
  }

  async #call<T>(target: () => Process | undefined, run: () => T | Promise<T>): Promise<T> {
    const world = this.#world;
    if (this.#has('hanging')) return new Promise(() => {});
    if (this.#has('lost')) {
      await world.pause(this.between(1, 30 * SECOND_MS));
      throw new Error('the call was lost');
    }
    await world.pause(this.#has('late') ? this.between(1, 40 * SECOND_MS) : this.between(1, 8) / 4);
    if (this.#has('doubled'))
      world.after(this.between(0, 30 * SECOND_MS), () => void this.#arrive(target, run));
    const answer = this.#arrive(target, run);
    await world.pause(this.between(1, 8) / 4);
    if (this.#has('answer lost')) throw new Error('the connection was lost');
    return answer();
  }

  #has(fault: CallFault): boolean {
    const probability = this.faults.get(fault) ?? 0;
    if (probability === 0 || !this.chance(probability)) return false;
    this.#world.count(`gateway: call ${fault}`);
    return true;
  }

  /** Returns the answer as a function, which throws if the called object has ended. */
  #arrive<T>(target: () => Process | undefined, run: () => T): () => T {
    const process = target();
    if (!process?.alive) return lost;
    const value = this.#world.enter(process, run);
    return () => (process.alive ? value : lost());
  }
}

function lost(): never {
  throw new Error('the object was reset');
}
