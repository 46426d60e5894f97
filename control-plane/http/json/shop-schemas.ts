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
    kind: z.enum(parameterKinds).describe('What the value sets'),
    name: z.string().describe('Name in the manifest'),
    readable_name: z.string().describe('Name for people'),
    description: z.string().describe('What the value means'),
    type: z.enum(['int', 'float', 'string']).describe('Type of the value'),
    default: z.string().describe('The value if none is given'),
    min: limit('The smallest value'),
    max: limit('The largest value'),
    step: z.number().nullable().describe('Values are a multiple of it above the smallest; null: any'),
    may_change: z.boolean().describe('Whether your role may give another value'),
  })
  .meta({ id: 'ShopParameter' });

const shownFields = {
  id: z.string().describe('Id of the application'),
  category: z.string().describe('The heading under which it stands'),
  name: z.string().describe('Name for people'),
  parameters: z.array(parameterSchema).describe('What may be filled in'),
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

export const filledInSchema = z.strictObject({
  application: applicationSchema.describe('The description with these values'),
});

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
    key,
    kind,
    name,
    readable_name: readableName,
    description,
    type,
    default: parameter.default,
    min,
    max,
    step,
    may_change: mayChange(role, parameter),
  };
};
