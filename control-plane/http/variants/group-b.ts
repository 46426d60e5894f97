/** Owns group B of the contract (api-spec): users are called by id, and are managed here with their roles and quotas. */
import { userJson } from '../account-json.ts';
import { quotas } from '../quotas.ts';
import { executionText } from '../render.ts';
import { roles } from '../roles.ts';
import type { LoginJson } from '../shapes.ts';
import { users } from '../users.ts';
import type { Variant, Words } from '../variant.ts';
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
  endpoints: 'always',
  tokens: null,
  documentedAs: 'B',
};
