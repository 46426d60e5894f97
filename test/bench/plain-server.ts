/** The limit of the group http: the least a Hono server can do with the same bodies. Prints its port. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import * as z from 'zod';
import { applicationSchema } from '../../shared/application.ts';

const submission = z.object({ name: z.string(), application: applicationSchema });
const body: unknown = JSON.parse(process.argv[2] ?? '');
let submitted = 0;

const app = new Hono();
app.post('/execution', async (c) => {
  submission.parse(await c.req.json());
  submitted += 1;
  return c.json({ execution_id: submitted });
});
app.get('/execution/:id', (c) => c.json(body as object));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`port ${port}`));
