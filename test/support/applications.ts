/** Owns descriptions for tests that run no container: those of descriptions.ts, by the names these tests go by. */
import type { Application, ServiceDescription } from '../../shared/application.ts';
import * as described from './descriptions.ts';

export const service = (changes: Partial<ServiceDescription> = {}): ServiceDescription =>
  described.service({ name: 'web', command: 'sleep 1000', ...changes });

/** An application of the given services; of one that monitors, where none are given. */
export const application = (...services: ServiceDescription[]): Application =>
  described.application(...(services.length > 0 ? services : [service()]));

/** Needs for `service({ resources })`: bytes and cores as minimum, nothing as maximum. */
export const needs = (memoryBytes: number | null, cores: number | null): ServiceDescription['resources'] => ({
  memory: { min: memoryBytes, max: null },
  cores: { min: cores, max: null },
});
