/** Owns application descriptions for tests: a small complete one, and whatever a test changes of it. */
import { IMAGE } from '../../examples/image.ts';
import type { Application, ServiceDescription } from '../../shared/application.ts';

/** One instance that decides the end. */
export const service = (changes: Partial<ServiceDescription> = {}): ServiceDescription => ({
  name: 'main',
  image: IMAGE,
  monitor: true,
  total_count: 1,
  essential_count: 1,
  startup_order: 0,
  resources: { memory: { min: null, max: null }, cores: { min: null, max: null } },
  environment: [],
  volumes: [],
  ports: [],
  command: null,
  ...changes,
});

export const application = (...services: ServiceDescription[]): Application => ({
  name: 'test-application',
  version: 3,
  will_end: true,
  size: 1,
  services,
});

/** A command that runs a shell script: no quotes in it but double ones. */
export const shell = (script: string): string => `sh -c '${script}'`;

/** A service that runs a shell script. */
export const script = (text: string, changes: Partial<ServiceDescription> = {}): ServiceDescription =>
  service({ command: shell(text), ...changes });
