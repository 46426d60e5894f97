/**
 * Applications that users of a simulation submit: gangs, start orders, health checks, restart policies,
 * elastic services, labels, images that must be pulled or do not exist.
 */
import type { Application } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../fixtures/applications.ts';
import { REMOTE_IMAGE } from '../machine/engine.ts';

const health = { tcp: { port: 80 } };
const restart = { attempts: 1, window: 60, delay: 5 };
const side = { name: 'side', monitor: false } as const;

/** An application whose image must be pulled. */
export const remote: Application = application(service({ image: REMOTE_IMAGE, resources: needs(5, null) }));

export const applications: readonly Application[] = [
  application(service({ resources: needs(10, 0.2) })),
  application(service({ resources: needs(30, 0.5) })),
  application(service({ total_count: 3, essential_count: 2, resources: needs(20, 0.3) })),
  application(
    service({ startup_order: 2 }),
    service({ ...side, total_count: 2, essential_count: 1, resources: needs(null, 0.3), health, restart }),
  ),
  application(service({ labels: ['ssd'], resources: needs(40, 0.5) }), service(side)),
  application(service(), service({ ...side, essential_count: 0, total_count: 2, resources: needs(30, 0.4) })),
  application(service({ total_count: 7, essential_count: 1, resources: needs(15, 0.4) })),
  application(service({ resources: needs(5, 0.1, 45) })),
  remote,
  application(service({ image: 'registry.test/nowhere:1' })),
  application(service({ resources: needs(1_000, 1) })),
  application(service({ resources: needs(70, 1.5) })),
];

/** A long description of many instances that fit nowhere. */
export const oversized: Application = application(
  service({ total_count: 5, resources: needs(1_000_000, 1), environment: [['TEXT', 'x'.repeat(500)]] }),
);

/** An application that needs little capacity, for many submissions at once. */
export const small: Application = application(service({ resources: needs(2, 0.05) }));
