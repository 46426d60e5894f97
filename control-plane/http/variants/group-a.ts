/** Group A of the contract (api-spec): users are identified by name, and the API does not manage them. */

import { endpointPairs } from '../../core/views/execution-views.ts';
import { schedulerSummary } from '../../operations/cluster/statistics.ts';
import { openServiceLog } from '../../operations/executions/services.ts';
import { VERSION } from '../../version.ts';
import { executionText, schedulerJson, serviceJson } from '../json/render.ts';
import type { LoginJson } from '../json/schemas.ts';
import type { Words } from '../words.ts';
import type { Variant } from './variant.ts';

const HOUR_MS = 60 * 60_000;

const words: Words = {
  statusOf: (status) => (status === 'queued' ? 'scheduled' : status),
  userIdOf: ({ userName }) => userName,
  ownerOf: (userId) => (userId === '' ? undefined : { username: userId }),
};

export const groupA: Variant = {
  ...words,
  created: 200,
  removed: 200,
  forbidden: 403,
  options: 200,
  statusHeader: false,
  errorBody: true,
  loginResult: ({ user, role }): LoginJson => ({ role: role.name, uid: user.username }),
  executionText: (execution) => executionText(execution, words),
  serviceJson,
  endpointsJson: endpointPairs,
  validated: {},
  statistics: async (context) => schedulerJson(await schedulerSummary(context)),
  openLog: (context, actor, id) => openServiceLog(context, actor, id, 'raw'),
  validatePath: '/app_validate',
  version: VERSION,
  explains: true,
  accounts: undefined,
  tokens: {
    accessMs: HOUR_MS,
    refreshMs: 30 * 24 * HOUR_MS,
    maxPerKind: 100,
    revokedResult: (text) => ({ ret: text }),
  },
  overQuota: 'queue',
  queueFull: 'too-many',
  documentedAs: 'A',
};
