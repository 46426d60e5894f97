/** Rules of streams to services: how many, how long, and what the audit log has of them. Pure. */

export interface StreamRules {
  inTotal: number;
  perUser: number;
  perService: number;
  perHost: number;
  /** Requests to web applications under one permit: those under way, and those that wait for one of them. */
  appRequests: number;
  waitingAppRequests: number;
  /** The longest time without a byte in either direction, and the longest time in all. */
  idleMs: number;
  totalMs: number;
  /** Whether the audit log has all words of commands, which may be secrets. */
  recordsCommands: boolean;
}

/** An agent takes 256 at most (P250). */
export const defaultStreamRules: StreamRules = {
  inTotal: 1_000,
  perUser: 50,
  perService: 32,
  perHost: 256,
  appRequests: 64,
  waitingAppRequests: 64,
  idleMs: 3_600_000,
  totalMs: 86_400_000,
  recordsCommands: false,
};

/** A quarter of a host's streams is left for commands, files and forwarded ports. */
export const appStreamsOfHost = ({ perHost }: Pick<StreamRules, 'perHost'>): number =>
  perHost - Math.floor(perHost / 4);

/** The others of a host are left to the applications of other users. */
export const appStreamsOfUser = ({ perHost }: Pick<StreamRules, 'perHost'>): number => Math.ceil(perHost / 2);
