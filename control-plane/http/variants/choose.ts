/** Chooses the variant of the API by the settings. No other file compares names of variants (API-1). */
import type { ContainerExtras } from '../../../shared/expand.ts';
import type { Variant } from '../variant.ts';
import { groupA } from './group-a.ts';
import { groupB } from './group-b.ts';
import { zoe2017, zoe2018 } from './zoe.ts';

/** By the value of the setting BERTH_API_VARIANT. */
export const variants = { A: groupA, B: groupB, 'zoe-2018.12': zoe2018, 'zoe-2017.12': zoe2017 } as const;

export const chooseVariant = (name: keyof typeof variants): Variant => variants[name];

export const containerExtrasOf = (config: {
  BERTH_API_VARIANT: keyof typeof variants;
  BERTH_ZOE_GID: number;
}): ContainerExtras | undefined =>
  chooseVariant(config.BERTH_API_VARIANT).containerExtrasOf?.(config.BERTH_ZOE_GID);
