/** Owns descriptions for tests: small valid ones, and whatever a test changes of them. */
import type { Application, ServiceDescription } from '../../shared/application.ts';

export function service(changes: Partial<ServiceDescription> = {}): ServiceDescription {
  return {
    name: 'web',
    image: 'berth/busybox:1',
    monitor: true,
    total_count: 1,
    essential_count: 1,
    startup_order: 0,
    resources: { memory: { min: null, max: null }, cores: { min: null, max: null } },
    environment: [],
    volumes: [],
    ports: [],
    command: 'sleep 1000',
    ...changes,
  };
}

/** An application of the given services; of one that monitors, where none are given. */
export function application(...services: ServiceDescription[]): Application {
  return {
    name: 'test-app',
    version: 3,
    will_end: true,
    size: 1,
    services: services.length > 0 ? services : [service()],
  };
}

/** Needs for `service({ resources })`: bytes and cores as minimum, nothing as maximum. */
export const needs = (memoryBytes: number | null, cores: number | null): ServiceDescription['resources'] => ({
  memory: { min: memoryBytes, max: null },
  cores: { min: cores, max: null },
});
