/** Owns the routes of hosts: parse, call the operation, render. */
import { Hono } from 'hono';
import * as z from 'zod';
import { hostNameSchema } from '../../shared/protocol/up.ts';
import type { Context } from '../operations/context.ts';
import { createJoinToken } from '../operations/join-tokens.ts';
import { json } from './render.ts';
import { checked, type Env, jsonBody } from './request.ts';
import type { JoinTokenJson } from './shapes.ts';
import type { Statuses } from './variant.ts';

export const labels = z
  .array(z.string().regex(/^[^\s,]{1,64}$/, 'must be 1 to 64 characters without spaces and commas'))
  .max(50);

/** An agent's BERTH_AGENT_NAME can be no other. */
const hostName = hostNameSchema.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be letters, digits, _ . -');

export const joinTokenFields = z.strictObject({ name: hostName.optional(), labels: labels.optional() });

export function hostRoutes(
  deps: Context & { nowMs(): number },
  { created }: Pick<Statuses, 'created'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/token', async (c) => {
    const input = async () => checked(joinTokenFields, await jsonBody(c), 'body');
    const { token, expiresMs } = await createJoinToken(deps, c.get('actor'), input, deps.nowMs());
    const answer: JoinTokenJson = { token, expires_at: expiresMs / 1_000 };
    return json(answer, created);
  });
  return routes;
}
