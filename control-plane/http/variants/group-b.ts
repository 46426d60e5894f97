/**
 * Group B of the contract (api-spec): users are identified by id, and the API manages them with their roles
 * and quotas.
 */

import { quotas } from '../accounts/quotas.ts';
import { roles } from '../accounts/roles.ts';
import { users } from '../accounts/users.ts';
import { userJson } from '../json/account-json.ts';
import { executionText } from '../json/render.ts';
import type { LoginJson } from '../json/schemas.ts';
import type { Variant } from '../variant.ts';
import type { Words } from '../words.ts';
import { groupA } from './group-a.ts';

const words: Words = {
  statusOf: (status) => status,
  userIdOf: ({ userId }) => userId,
  ownerOf: (userId) => (/^\d{1,15}$/.test(userId) ? { id: Number(userId) } : undefined),
};

export const groupB: Variant = {
  ...groupA,
  ...words,
  statusHeader: true,
  loginResult: ({ user }): LoginJson => ({ user: userJson(user) }),
  executionText: (execution) => executionText(execution, words),
  accounts: { users, roles, quotas },
  tokens: null,
  documentedAs: 'B',
};
