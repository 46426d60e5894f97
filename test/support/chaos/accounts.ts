/** Compares what was promised during the chaos test with what exists afterwards. Only reads. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { Execution } from '../../../client/api-types.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import type { SteadyLoad } from './load.ts';

/**
 * Problems: acknowledged submissions that are missing, executions that nothing submitted, duplicate names,
 * executions that have not ended, and errors without a reason.
 */
export function accountFor(
  load: Pick<SteadyLoad, 'accepted' | 'unsure'>,
  executions: readonly Execution[],
): string[] {
  const byId = new Map(executions.map((one) => [one.id, one]));
  const problems: string[] = [];
  for (const [id, name] of load.accepted)
    if (byId.get(id)?.name !== name)
      problems.push(`execution ${id} (${name}) was acknowledged but is missing`);
  const names = executions.map(({ name }) => name);
  for (const name of new Set(names))
    if (names.indexOf(name) !== names.lastIndexOf(name)) problems.push(`the name ${name} occurs twice`);
  for (const { id, name, status, error_message } of executions) {
    if (load.accepted.get(id) !== name && !load.unsure.has(name))
      problems.push(`execution ${id} (${name}) was never submitted`);
    if (status !== 'terminated' && status !== 'error')
      problems.push(`execution ${id} has not ended: its status is ${status}`);
    if (status === 'error' && !error_message)
      problems.push(`execution ${id} has the status error without a reason`);
  }
  return problems;
}

/**
 * Problems: containers that ran again without a kill of their engine, and services with more containers than
 * starts. An engine that is killed during a start does not remember the start, so the agent requests it
 * again. `marks` has one file per service, `<execution>-<service>`, to which each run of a container appends
 * the container's id.
 */
export async function startedTwice(marks: string, db: Db, engineKills: number): Promise<string[]> {
  const rows = await db.query('SELECT execution_id, name, generation FROM services');
  const generations = new Map(rows.map((row) => [`${row.execution_id}-${row.name}`, Number(row.generation)]));
  const problems: string[] = [];
  for (const service of await readdir(marks)) {
    const runs = (await readFile(join(marks, service), 'utf8')).trimEnd().split('\n');
    const containers = new Set(runs);
    const starts = generations.get(service) ?? 0;
    for (const container of containers) {
      const again = runs.filter((run) => run === container).length - 1;
      if (again > engineKills) problems.push(`a container of ${service} ran again ${again} times`);
    }
    if (containers.size > starts)
      problems.push(`${service} had ${containers.size} containers for ${starts} starts`);
  }
  return problems;
}

export async function leftOn(docker: Docker, deployment: string): Promise<string[]> {
  const filters = { label: [`berth.deployment=${deployment}`] };
  const containers = await docker.listContainers({ all: true, filters });
  const networks = await Promise.all(
    (await docker.listNetworks({ filters })).map(({ Id }) => docker.getNetwork(Id).inspect()),
  );
  return [
    ...containers.map(({ Names, State }) => `container ${Names[0]} (${State})`),
    ...networks.map(({ Name, Containers }) => `network ${Name} (${JSON.stringify(Containers)})`),
  ];
}
