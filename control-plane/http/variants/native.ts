/** Group B with what only Berth's own programs need (SPEC H430 to H432). */
import { serviceJson } from '../json/render.ts';
import type { ServiceJson } from '../json/schemas.ts';
import { groupB } from './group-b.ts';
import type { Variant } from './variant.ts';

export const native: Variant = {
  ...groupB,
  framedLogs: true,
  serviceJson: (service): ServiceJson => ({
    ...serviceJson(service),
    exit_code: service.hasDied ? (service.exit?.code ?? null) : null,
  }),
};
