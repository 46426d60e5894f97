/** A machine with a fake engine and a data folder, for agents one after the other, until a test ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { FakeEngine } from '../engines/fake-engine.ts';
import { assignment } from '../fixtures/assignments.ts';
import { type AgentRig, agentRig, type RigOptions } from './agent-rig.ts';
import type { PeerConnection, WelcomeOptions } from './control-plane-peer.ts';

export class AgentMachine {
  /** Where the engine and the agents store their files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  readonly engine = new FakeEngine(`${this.folder}/engine`);
  readonly #options: Partial<RigOptions>;
  #rig: AgentRig | undefined;

  /** `options`: of all its agents. */
  constructor(options: Partial<RigOptions> = {}) {
    this.#options = options;
    onTestFinished(async () => {
      await this.#rig?.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** The latest agent. */
  get rig(): AgentRig {
    if (!this.#rig) throw new Error('no agent has started');
    return this.#rig;
  }

  /** Starts an agent with the same data folder. */
  async begin(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
    this.#rig = await agentRig(this.engine, { dataDir: `${this.folder}/data`, ...this.#options, ...options });
    return this.#rig.peer.connection();
  }

  /** Starts an agent, and welcomes it with these services. */
  async welcome(assignments = [assignment()], welcome?: WelcomeOptions): Promise<PeerConnection> {
    const connection = await this.begin();
    connection.welcome(assignments, welcome);
    return connection;
  }

  /** Starts an agent that runs these services. */
  async run(assignments: Assignment[] = [assignment()], welcome?: WelcomeOptions): Promise<PeerConnection> {
    const connection = await this.begin();
    await connection.run(assignments, welcome);
    return connection;
  }

  /** Ends the agent and starts another one, as after a crash. */
  async restart(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
    await this.rig.close();
    return this.begin(options);
  }
}
