/** Example application in the OpenAPI document: small, valid and useful. */
import type { Application } from '../../../shared/application-schema.ts';

export const EXAMPLE: Application = {
  name: 'hello',
  version: 3,
  will_end: true,
  size: 1,
  services: [
    {
      name: 'hello',
      image: 'busybox',
      monitor: true,
      total_count: 1,
      essential_count: 1,
      startup_order: 0,
      resources: { memory: { min: 16_777_216, max: 67_108_864 }, cores: { min: 0.1, max: 1 } },
      environment: [['GREETING', 'Hello, {user_name}']],
      volumes: [],
      ports: [],
      command: 'sh -c "echo $GREETING"',
    },
  ],
};
