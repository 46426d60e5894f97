/**
 * Group B with what only Berth's own programs need (SPEC H430 to H432, H480 to H483, H503, H512, H532, H565,
 * H644, H657, H658, H741).
 */
import { type AppAddresses, appAddress, pathAddress, sharedWithUsers } from '../../core/apps/app-address.ts';
import { endpointPairs, endpointsOf, healthOf, type ServiceView } from '../../core/views/execution-views.ts';
import { ownQuotas, quotas } from '../accounts/quotas.ts';
import { ownRoles, roles } from '../accounts/roles.ts';
import { linkable, users } from '../accounts/users.ts';
import { quotaJson } from '../json/account-json.ts';
import { executionText, secondsOf, serviceJson, startJson } from '../json/render.ts';
import type { QuotaJson } from '../json/schemas.ts';
import type { ServiceJson } from '../json/service-schemas.ts';
import type { Variant } from '../variant.ts';
import { groupB } from './group-b.ts';

export const native: Variant = {
  ...groupB,
  isNative: true,
  executionText: (execution) =>
    executionText(execution, groupB, {
      time_limit: execution.timeLimitS,
      ...(execution.waitingFor && { waiting_for: [...execution.waitingFor] }),
    }),
  serviceJson: (service, apps): ServiceJson => ({
    ...serviceJson(service),
    exit_code: service.hasDied ? (service.exit?.code ?? null) : null,
    endpoints: endpointPairs(endpointsOf([service], apps)),
    applications: applicationsOf(service, apps),
    shared: sharedWithUsers(service),
    health: healthOf(service),
    time_restart: secondsOf(service.restartAtMs),
    history: (service.history ?? []).map(startJson),
  }),
  accounts: {
    users: { ...users, ...linkable },
    roles: { ...roles, ...ownRoles },
    quotas: {
      ...quotas,
      ...ownQuotas,
      render: (quota): QuotaJson => ({
        ...quotaJson(quota),
        cores: quota.cores,
        time_limit: quota.timeLimitS,
        max_time_limit: quota.maxTimeLimitS,
      }),
    },
  },
};

/** Whatever its state: each address shows what the service waits for, until it runs. */
const applicationsOf = ({ id, description }: ServiceView, apps: AppAddresses) =>
  description.ports.flatMap((port) => {
    const url = appAddress(apps, id, port) ?? pathAddress(apps, id, port);
    return url === undefined ? [] : [{ name: port.name, port_number: port.port_number, url }];
  });
