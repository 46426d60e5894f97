/** Settings of streams to services: how many, how long, and what the audit log has of them. */
import * as z from 'zod';
import { MAX_STREAMS } from '../../shared/streams/targets.ts';
import { defaultStreamRules, type StreamRules } from '../core/model/stream-rules.ts';
import { bound, secondsOf } from './bound.ts';

const WEEK_S = 7 * 86_400;
const rules = defaultStreamRules;

export const streamSettings = {
  BERTH_MAX_STREAMS: bound(rules.inTotal, 'streams', 100_000),
  BERTH_MAX_STREAMS_PER_USER: bound(rules.perUser, 'streams', 10_000),
  BERTH_MAX_STREAMS_PER_SERVICE: bound(rules.perService, 'streams', MAX_STREAMS),
  BERTH_MAX_STREAMS_PER_HOST: bound(rules.perHost, 'streams', MAX_STREAMS),
  BERTH_MAX_APP_REQUESTS: bound(rules.appRequests, 'requests', MAX_STREAMS),
  BERTH_MAX_WAITING_APP_REQUESTS: bound(rules.waitingAppRequests, 'requests', 10_000),
  BERTH_STREAM_IDLE: secondsOf(rules.idleMs / 1_000, 0.1, WEEK_S),
  BERTH_STREAM_TIME: secondsOf(rules.totalMs / 1_000, 0.1, WEEK_S),
  BERTH_AUDIT_COMMANDS: z.enum(['off', 'on']).default('off'),
};

type Settings = z.infer<z.ZodObject<typeof streamSettings>>;

export const streamRulesOf = (config: Settings): StreamRules => ({
  inTotal: config.BERTH_MAX_STREAMS,
  perUser: config.BERTH_MAX_STREAMS_PER_USER,
  perService: config.BERTH_MAX_STREAMS_PER_SERVICE,
  perHost: config.BERTH_MAX_STREAMS_PER_HOST,
  appRequests: config.BERTH_MAX_APP_REQUESTS,
  waitingAppRequests: config.BERTH_MAX_WAITING_APP_REQUESTS,
  idleMs: Math.round(1_000 * config.BERTH_STREAM_IDLE),
  totalMs: Math.round(1_000 * config.BERTH_STREAM_TIME),
  recordsCommands: config.BERTH_AUDIT_COMMANDS === 'on',
});
