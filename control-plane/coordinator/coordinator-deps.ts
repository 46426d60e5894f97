/** The parts of a coordinator: its database, clock and log, its configuration, and how it claims epochs. */
import type { SchedulerConfig } from '../core/model/scheduler-config.ts';
import type { AwakeSummary } from '../core/views/awake-totals.ts';
import type { Db } from '../store/db/db.ts';
import type { ClaimTerms } from '../store/db/epoch.ts';
import type { AgentsDeps } from './agents/agents.ts';
import type { SavedCoordinator } from './sleep/saved-state.ts';

export interface CoordinatorDeps extends AgentsDeps {
  db: Db;
  scheduling: SchedulerConfig;
  /** Days for which ended executions are kept; 0: for ever. Absent: what the database records (C243). */
  keepEndedDays?: number | undefined;
  claim?: ClaimTerms;
  /** Set for a coordinator that has slept. */
  resumes?: SavedCoordinator | undefined;
  /** How long objects were awake, where the coordinator is one that can sleep. */
  awake?: () => Promise<AwakeSummary>;
  /** Called once another coordinator has taken over. */
  retired?: (() => void) | undefined;
}
