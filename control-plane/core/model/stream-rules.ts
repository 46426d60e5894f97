/** Rules of streams to services: how many, how long, and what the audit log has of them. Pure. */
import { defaultLimits, type Limits } from '../../../shared/settings/limits.ts';

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
  /** How many characters of the words of a command, which may be secrets, the audit log has. 0: none. */
  auditedCommandLength: number;
}

export const streamRulesOf = (limits: Limits): StreamRules => ({
  inTotal: limits.streams,
  perUser: limits.streamsPerUser,
  perService: limits.streamsPerService,
  perHost: limits.streamsPerHost,
  appRequests: limits.appRequests,
  waitingAppRequests: limits.waitingAppRequests,
  idleMs: Math.round(1_000 * limits.streamIdleS),
  totalMs: Math.round(1_000 * limits.streamTimeS),
  auditedCommandLength: limits.auditedCommandLength,
});

export const defaultStreamRules: StreamRules = streamRulesOf(defaultLimits);

/** A quarter of a host's streams is left for commands, files and forwarded ports. */
export const appStreamsOfHost = ({ perHost }: Pick<StreamRules, 'perHost'>): number =>
  perHost - Math.floor(perHost / 4);

/** The others of a host are left to the applications of other users. */
export const appStreamsOfUser = ({ perHost }: Pick<StreamRules, 'perHost'>): number => Math.ceil(perHost / 2);
