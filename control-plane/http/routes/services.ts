/** Routes of services, their output, and discovery. */
import { Hono } from 'hono';
import { authorise } from '../../core/accounts/account.ts';
import { requirementOf } from '../../core/model/resources.ts';
import { serviceSeenAt } from '../../core/views/early-end.ts';
import { appAddresses } from '../../operations/app-addresses.ts';
import type { Context } from '../../operations/context.ts';
import { describeService, discover, getService } from '../../operations/executions/services.ts';
import { readServiceUsage } from '../../operations/executions/usage.ts';
import { json } from '../json/render.ts';
import type { DiscoveryJson } from '../json/schemas.ts';
import { usageJson } from '../json/usage-schemas.ts';
import { type Env, pathId } from '../request.ts';
import type { Answers, Routes } from '../variants/variant.ts';
import { STREAM_HEADERS } from './execution-logs.ts';

export function serviceRoutes(
  context: Context,
  variant: Answers & Pick<Routes, 'explains' | 'hidesEarlyEnds' | 'usage'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  const readService = variant.explains ? describeService : getService;
  routes.get('/logs/:id', async (c) => {
    const [actor, id] = [c.get('actor'), pathId(c, 'id')];
    const head = c.req.method === 'HEAD';
    // HEAD opens no log: workerd would keep it open at the agent until the next output.
    const log = head
      ? await getService(context, actor, id).then(() => null)
      : await variant.openLog(context, actor, id);
    return new Response(log, {
      headers: { ...STREAM_HEADERS, 'content-type': 'text/plain; charset=utf-8' },
    });
  });
  if (variant.usage)
    routes.get('/:id/usage', async (c) => {
      const { service, usage } = await readServiceUsage(context, c.get('actor'), pathId(c, 'id'));
      return json(usageJson(usage, requirementOf(service.description)));
    });
  routes.get('/:id', async (c) => {
    const service = await readService(context, c.get('actor'), pathId(c, 'id'));
    const seen = variant.hidesEarlyEnds ? serviceSeenAt(service, context.nowMs()) : service;
    return json(variant.serviceJson(seen, await appAddresses(context)));
  });
  return routes;
}

export function discoveryRoutes(
  context: Context,
  { privateDiscovery, everyGroup }: Pick<Routes, 'privateDiscovery' | 'everyGroup'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get('/by_group/:id/:group', async (c) => {
    if (privateDiscovery) authorise(c.get('actor'), { kind: 'login' });
    const id = pathId(c, 'id');
    const group = c.req.param('group');
    const dns_names = await discover(context, id, group === everyGroup ? undefined : group);
    const found: DiscoveryJson = { service_type: group, execution_id: c.req.param('id'), dns_names };
    return json(found);
  });
  return routes;
}
