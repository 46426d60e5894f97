/** JSON of users, roles and quotas. It never contains a password or its hash. */
import type { Quota, Role, User } from '../../core/accounts/account.ts';
import { contractFlagNames } from '../../core/accounts/role-flags.ts';
import { snakeFields } from '../../core/model/field-names.ts';
import type { QuotaJson, RoleJson, UserJson } from './schemas.ts';

export const userJson = (user: User): UserJson => ({
  id: user.id,
  username: user.username,
  email: user.email,
  role_id: user.roleId,
  quota_id: user.quotaId,
  auth_source: user.authSource,
  fs_uid: user.fsUid,
  priority: user.priority,
  enabled: user.enabled,
});

export const roleJson = (role: Role): RoleJson => ({
  id: role.id,
  name: role.name,
  ...snakeFields(contractFlagNames, (flag) => role[flag]),
});

/** The contract has whole cores: parts of one are rounded up, since 0 would mean no limit. */
export const quotaJson = (quota: Quota): QuotaJson => ({
  id: quota.id,
  name: quota.name,
  concurrent_executions: quota.concurrentExecutions,
  memory: quota.memoryBytes,
  cores: Math.ceil(quota.cores),
});
