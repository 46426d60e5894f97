/** Container scripts: what the containers of a simulation do after their start. */
import type { Assignment, ServiceKey } from '../../../../shared/protocol/assignment.ts';
import type { ContainerScript, HealthScript } from '../machine/container.ts';
import type { World } from '../world/time.ts';

/** The container writes nothing and never ends by itself. */
export const endlessScript = (): ContainerScript => ({
  ...{ afterMs: null, exitCode: 0, outOfMemory: false, startError: undefined },
  ...{ lines: 0, linesMs: 0, immortalUntilMs: 0 },
});

/** Two containers of five end by themselves, unless `isEndless`. The assignment may ask for health checks. */
export function randomScript(world: World, isEndless: boolean, assignment: Assignment): ContainerScript {
  const script = endingScript(world, isEndless);
  return assignment.health ? { ...script, health: healthScript(assignment, isEndless) } : script;
}

/** One start of four becomes unhealthy, unless `isEndless`. Uses no random numbers. */
function healthScript({ service, generation }: ServiceKey, isEndless: boolean): HealthScript {
  const healthyAfterMs = 10 + 700 * (service % 4);
  if (isEndless || (service + generation) % 4 > 0) return { healthyAfterMs, unhealthyAfterMs: null };
  return { healthyAfterMs, unhealthyAfterMs: service % 3 === 0 ? 0 : 6_000 };
}

function endingScript(world: World, isEndless: boolean): ContainerScript {
  const output = { lines: world.between(0, 30), linesMs: world.between(1, 5_000) };
  const kind = isEndless ? 1 : world.random();
  const ends = (exitCode: number, afterMs: number, more: Partial<ContainerScript> = {}): ContainerScript => ({
    ...endlessScript(),
    ...output,
    afterMs,
    exitCode,
    ...more,
  });
  if (kind < 0.2) return ends(0, world.between(0, 40_000));
  if (kind < 0.3) return ends(3, world.between(0, 40_000));
  if (kind < 0.33) return ends(137, world.between(0, 20_000), { outOfMemory: true });
  if (kind < 0.38) return ends(world.pick([0, 1]), 0);
  if (kind < 0.4) return ends(127, 1, { startError: 'exec nothing failed: No such file', lines: 0 });
  return { ...endlessScript(), ...output };
}
