/** What deployments of tests have left on an engine: containers and networks, by their labels. */
import type Docker from 'dockerode';

const LABEL = 'berth.deployment';
/** Deployments with such a name exist in tests only. */
const TEST_PREFIX = 'e2e-';

/** Removes the containers and networks of a deployment. Returns their names. */
export const removeDeployment = (docker: Docker, deployment: string): Promise<string[]> =>
  remove(docker, `${LABEL}=${deployment}`, () => true);

/**
 * Removes what killed runs of the tests have left. A run that starts on the same engine would find their
 * containers under the names of its own.
 */
export const removeKilledRuns = (docker: Docker): Promise<string[]> =>
  remove(docker, LABEL, (deployment) => deployment.startsWith(TEST_PREFIX));

async function remove(
  docker: Docker,
  label: string,
  isWanted: (deployment: string) => boolean,
): Promise<string[]> {
  const filters = { label: [label] };
  const wanted = (labels: Record<string, string> | undefined) => isWanted(labels?.[LABEL] ?? '');
  const containers = (await docker.listContainers({ all: true, filters })).filter(({ Labels }) =>
    wanted(Labels),
  );
  for (const { Id } of containers) await docker.getContainer(Id).remove({ force: true });
  const networks = (await docker.listNetworks({ filters })).filter(({ Labels }) => wanted(Labels));
  for (const { Id } of networks) await docker.getNetwork(Id).remove();
  return [
    ...containers.map(({ Names, State }) => `${Names[0]} (${State})`),
    ...networks.map(({ Name }) => Name),
  ];
}
