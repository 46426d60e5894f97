/** Containers as they were on the earlier platform (H738). */
import type { ContainerExtras } from '../../../shared/expand.ts';

/** `gid`: the group of all users. */
export const zoeContainers = (gid: number): ContainerExtras => ({
  workspace: '/mnt/workspace',
  environment: [['ZOE_GID', String(gid)]],
  labelsOf: (service, instance, { executionName, executionId, userName, deploymentName }) => ({
    zoe_execution_name: executionName,
    zoe_execution_id: String(executionId),
    zoe_service_name: instance,
    zoe_service_id: String(service),
    zoe_owner: userName,
    zoe_deployment_name: deploymentName,
    zoe_type: 'app_service',
  }),
});
