/** Turns on a real database that fails on demand, with a record of what happened in which order. */
import type { Input } from '../../../control-plane/coordinator/turn-inputs.ts';
import { Turns } from '../../../control-plane/coordinator/turns.ts';
import { newExecution } from '../../../control-plane/core/lifecycle/submission.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { Decision } from '../../../control-plane/core/state/decision.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { application } from '../fixtures/applications.ts';
import { FaultyDb, testDatabase } from '../hosts/memory-database.ts';
import { eventually } from '../tools/eventually.ts';
import { decisionText } from './core-rig.ts';
import { TestClock } from './test-clock.ts';

export class TurnsRig {
  /** The database itself, which does not fail. */
  readonly memory: Db;
  readonly db: FaultyDb;
  readonly clock = new TestClock();
  turns: Turns;
  /** Everything that happened, in order. */
  events: string[] = [];

  private constructor(memory: Db) {
    this.memory = memory;
    this.db = new FaultyDb(memory);
    this.turns = this.makeTurns();
  }

  /** Until the test ends. */
  static async open(): Promise<TurnsRig> {
    return new TurnsRig(await testDatabase());
  }

  /** If `faulty` returns true, the callback after a commit throws. */
  makeTurns(faulty: () => boolean = () => false): Turns {
    return new Turns(this.db, this.clock, () => {}, defaultSchedulerConfig, {
      clockStepped: () => {},
      committed: (decisions: readonly Decision[]) => {
        this.events.push(`sent ${decisions.map(decisionText).join(', ')}`);
        if (faulty()) throw new Error('a fault of ours');
      },
      changed: () => {},
      resumed: () => {},
      took: () => {},
      doubted: () => {},
      lost: () => this.events.push('lost'),
      nextReviewMs: () => this.clock.nowMs() + 3_600_000,
    });
  }

  submission(name: string): Input {
    return {
      run: (cluster, nowMs) => {
        const description = application();
        const text = JSON.stringify(description);
        const submission = { userId: 1, name, application: description, description: text };
        const execution = newExecution(cluster.nextIds, submission, nowMs);
        cluster.addExecution(execution);
        cluster.changes.newExecutions.set(execution, { text, application: description });
      },
      done: () => this.events.push(`done ${name}`),
      fail: (error) =>
        this.events.push(`fail ${name} ${error instanceof OperationError ? error.code : error}`),
    };
  }

  /** Submits, and waits until that much has happened in all. */
  submit(name: string, happened: number): Promise<unknown> {
    this.turns.enqueue(this.submission(name));
    return this.happened(happened);
  }

  happened(count: number): Promise<unknown> {
    return eventually(() => this.events.length >= count);
  }

  /** How many executions the database has. */
  async stored(): Promise<number> {
    return (await this.memory.query('SELECT id FROM executions')).length;
  }
}
