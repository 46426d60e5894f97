/** Finds all containers of this host on its engine, for a comparison with what the registry has. */
import type { Container, ContainerSummary, Engine } from '../engine/engine.ts';
import type { ConcurrencyLimits } from './concurrency-limits.ts';
import type { ServiceRegistry } from './service-registry.ts';

/** Returns each service's containers by their ids. Throws EngineError. */
export async function findContainers(
  engine: Pick<Engine, 'list' | 'inspect'>,
  registry: ServiceRegistry,
  limits: ConcurrencyLimits,
): Promise<Map<number, Map<string, Container>>> {
  const lane = limits.laneFor('inspect');
  // A container listed in its known state needs no inspection.
  const inspectListed = async (listed: ContainerSummary): Promise<Container | undefined> => {
    const known = registry.get(listed.service)?.containers.get(listed.id);
    return known && isSame(known, listed) ? known : await lane.run(() => engine.inspect(listed.id));
  };
  const found = new Map<number, Map<string, Container>>();
  for (const container of await Promise.all((await engine.list()).map(inspectListed))) {
    if (!container) continue;
    const ofService = found.get(container.service) ?? new Map<string, Container>();
    found.set(container.service, ofService.set(container.id, container));
  }
  return found;
}

const isSame = (known: Container, { state, paused, health }: ContainerSummary): boolean =>
  known.state === state &&
  (known.state !== 'running' || (known.health?.state === health && known.paused === paused));
