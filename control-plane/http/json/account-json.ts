/** JSON of users, roles and quotas. It never contains a password or its hash. */
import type { Quota, Role, User } from '../../core/accounts/account.ts';
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
  can_change_config: role.canChangeConfig,
  can_delete_executions: role.canDeleteExecutions,
  can_see_status: role.canSeeStatus,
  can_access_full_app_shop: role.canAccessFullAppShop,
  can_operate_others: role.canOperateOthers,
  can_customize_resources: role.canCustomizeResources,
  can_access_api: role.canAccessApi,
});

/** The contract has whole cores: parts of one are rounded up, since 0 would mean no limit. */
export const quotaJson = (quota: Quota): QuotaJson => ({
  id: quota.id,
  name: quota.name,
  concurrent_executions: quota.concurrentExecutions,
  memory: quota.memoryBytes,
  cores: Math.ceil(quota.cores),
});
