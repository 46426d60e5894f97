/** What roles allow. Each flag stands here once: columns, JSON and schemas follow from it. */

/** The flags of the contract, and what each allows. */
export const contractFlags = {
  canChangeConfig: 'May change users, roles, quotas and hosts, and read the audit log',
  canDeleteExecutions: 'May delete executions, not only terminate them',
  canSeeStatus: 'May see the hosts of the cluster',
  canAccessFullAppShop: 'Sees every application of the shop',
  canOperateOthers: 'May read and operate the executions of others',
  canCustomizeResources: 'May change memory and cores of applications of the shop',
  canAccessApi: 'May use the API and log in',
} as const;

/** The same with the flags that the contract lacks (H687). */
export const roleFlags = { ...contractFlags, canExec: 'May run commands in services' } as const;

export type RoleFlag = keyof typeof roleFlags;
/** In the order of the contract. */
export const roleFlagNames = Object.keys(roleFlags) as readonly RoleFlag[];
export const contractFlagNames = Object.keys(contractFlags) as readonly (keyof typeof contractFlags)[];
export type RoleFlags = Record<RoleFlag, boolean>;
