/** A machine with a fake engine and a data folder, on which agents run one after the other. */
import { FakeEngine } from '../engines/fake-engine.ts';
import { type AgentRig, agentRig, type RigOptions, scratchDir } from './agent-rig.ts';
import type { PeerConnection } from './control-plane-peer.ts';

export class AgentMachine {
  readonly engine: FakeEngine;
  readonly #scratch: Awaited<ReturnType<typeof scratchDir>>;
  #rig: AgentRig | undefined;

  private constructor(scratch: Awaited<ReturnType<typeof scratchDir>>) {
    this.#scratch = scratch;
    this.engine = new FakeEngine(`${scratch.path}/engine`);
  }

  /** A machine without an agent. */
  static async make(): Promise<AgentMachine> {
    return new AgentMachine(await scratchDir());
  }

  /** A machine on which a first agent runs. */
  static async open(): Promise<AgentMachine> {
    const machine = await AgentMachine.make();
    await machine.begin();
    return machine;
  }

  /** Where the engine and the agents store their files. */
  get folder(): string {
    return this.#scratch.path;
  }

  /** The latest agent. */
  get rig(): AgentRig {
    if (!this.#rig) throw new Error('no agent has started');
    return this.#rig;
  }

  /** Starts an agent with the same data folder. */
  async begin(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
    this.#rig = await agentRig(this.engine, { dataDir: `${this.#scratch.path}/data`, ...options });
    return this.#rig.peer.connection();
  }

  /** Ends the agent and starts another one, as after a crash. */
  async restart(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
    await this.rig.close();
    return this.begin(options);
  }

  async close(): Promise<void> {
    await this.#rig?.close();
    await this.#scratch.remove();
  }
}
