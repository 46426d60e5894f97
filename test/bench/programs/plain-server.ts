/** The limit of the group `http`: a minimal Hono server with the same bodies. Prints its port. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';

const submission = z.object({ name: z.string(), application: applicationSchema });
const body: unknown = JSON.parse(process.argv[2] ?? '');
const INFO = {
  version: '0.1.0',
  deployment_name: 'plain',
  application_format_version: 3,
  api_version: '0.7',
};
let submitted = 0;

const app = new Hono();
app.post('/execution', async (c) => {
  submission.parse(await c.req.json());
  submitted += 1;
  return c.json({ execution_id: submitted });
});
app.get('/execution/:id', (c) => c.json(body as object));
app.get('/info', (c) => c.json(INFO));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`port ${port}`));
