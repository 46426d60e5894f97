/** Resource: what users, roles and quotas have in common for their routes. */
import type * as z from 'zod';
import type { Actor } from '../../core/accounts/account.ts';
import type { Made } from '../../core/model/idempotency.ts';
import type { ConfirmPassword } from '../../operations/accounts/users.ts';
import type { Input, Kind } from '../../operations/accounts/write-outcome.ts';
import type { Context, ReadKey } from '../../operations/context.ts';

export interface Resource<T extends { id: number }, New, Changes, Filter> {
  kind: Kind;
  body: z.ZodType<New>;
  changes: z.ZodType<Changes>;
  filter: z.ZodType<Filter>;
  render(one: T): unknown;
  create(context: Context, actor: Actor, input: Input<New>, readKey: ReadKey): Promise<Made>;
  get(context: Context, actor: Actor, id: number): Promise<T>;
  list(context: Context, actor: Actor, filter: Input<Filter>): Promise<T[]>;
  update(
    context: Context,
    actor: Actor,
    id: number,
    input: Input<Changes>,
    confirm: ConfirmPassword,
  ): Promise<void>;
  remove(context: Context, actor: Actor, id: number): Promise<void>;
}
