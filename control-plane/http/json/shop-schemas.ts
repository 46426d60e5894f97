/** Schemas and JSON of the app shop. */
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';
import type { Role } from '../../core/accounts/account.ts';
import { mayChange, parametersFor, type ShopEntry } from '../../core/shop/shop.ts';
import { type Parameter, parameterKinds } from '../../core/shop/shop-parameters.ts';

const limit = (text: string) => z.number().nullable().describe(`${text}; null: no limit`);

const parameterSchema = z
  .strictObject({
    key: z.string().describe('Names the parameter in `values`'),
    kind: z.enum(parameterKinds),
    name: z.string(),
    readable_name: z.string(),
    description: z.string(),
    type: z.enum(['int', 'float', 'string']),
    default: z.string(),
    min: limit('The smallest value'),
    max: limit('The largest value'),
    step: z.number().nullable().describe('Values are a multiple of it above the smallest; null: any'),
    may_change: z.boolean().describe('Whether your role may give another value'),
  })
  .meta({ id: 'ShopParameter' });

const shownFields = {
  id: z.string(),
  category: z.string(),
  name: z.string(),
  parameters: z.array(parameterSchema),
};

export const shopEntrySchema = z.strictObject(shownFields).meta({ id: 'ShopEntry' });

export const shopEntryDetailSchema = z
  .strictObject({ ...shownFields, readme: z.string().describe('Markdown') })
  .meta({ id: 'ShopEntryDetail' });

export const shopValuesSchema = z.strictObject({
  values: z
    .record(z.string(), z.string())
    .default({})
    .describe('By the keys of parameters; those that are absent have their defaults'),
});

export const filledInSchema = z.strictObject({ application: applicationSchema });

export type ShopEntryJson = z.infer<typeof shopEntrySchema>;
export type ShopEntryDetailJson = z.infer<typeof shopEntryDetailSchema>;

export const shopEntryJson = (entry: ShopEntry, role: Role): ShopEntryJson => ({
  id: entry.id,
  category: entry.category,
  name: entry.name,
  parameters: parametersFor(entry, role).map((parameter) => parameterJson(parameter, role)),
});

export const shopEntryDetailJson = (entry: ShopEntry, role: Role): ShopEntryDetailJson => ({
  ...shopEntryJson(entry, role),
  readme: entry.readme,
});

const parameterJson = (parameter: Parameter, role: Role): ShopEntryJson['parameters'][number] => {
  const { key, kind, name, readableName, description, type, min, max, step } = parameter;
  return {
    ...{ key, kind, name, readable_name: readableName, description, type },
    ...{ default: parameter.default, min, max, step, may_change: mayChange(role, parameter) },
  };
};
