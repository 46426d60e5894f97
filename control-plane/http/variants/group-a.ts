/** Group A of the contract (api-spec): users are identified by name, and the API does not manage them. */
import { executionText, serviceJson } from '../json/render.ts';
import type { LoginJson } from '../json/schemas.ts';
import type { Variant } from '../variant.ts';
import type { Words } from '../words.ts';

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
  validatePath: '/app_validate',
  accounts: undefined,
  tokens: {
    accessMs: HOUR_MS,
    refreshMs: 30 * 24 * HOUR_MS,
    maxPerKind: 100,
  },
  overQuota: 'queue',
  documentedAs: 'A',
};
