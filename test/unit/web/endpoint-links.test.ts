import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { ServiceView } from '../../../control-plane/core/views/execution-views.ts';
import type { WebEnv } from '../../../control-plane/web/context.ts';
import { endpoints } from '../../../control-plane/web/pages/executions/execution-endpoints.ts';
import { service } from '../../support/fixtures/descriptions.ts';

interface Shown {
  template?: string;
  hostAddress?: string;
  /** Where the browser has opened Berth. */
  origin?: string;
  publicUrl?: string;
}

/** The endpoints on the page of an execution whose description has this template, however it was stored. */
async function pageOf({ template = 'http://{ip_port}/', ...shown }: Shown): Promise<string> {
  const { hostAddress = '192.0.2.1', origin = 'http://127.0.0.1:5001', publicUrl } = shown;
  const port = { name: 'p', port_number: 80, protocol: 'tcp' as const, url_template: template };
  const view = {
    status: 'active',
    hostAddress,
    description: service({ ports: [port] }),
    ports: [{ port: 80, protocol: 'tcp', hostPort: 8080 }],
  };
  const execution = { id: 12, status: 'running', userName: 'ann' } as const;
  const services = [view as unknown as ServiceView];
  const app = new Hono<WebEnv>().get('/', (c) =>
    c.text(String(endpoints(c, { execution, services, apps: {}, publicUrl }))),
  );
  return (await app.request(`${origin}/`)).text();
}

test('H325: an endpoint of http is a link, and an older description with any other makes none', async () => {
  const scripts = ['javascript:alert(1)//{ip_port}', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)'];
  const others = [' javascript:alert(1)', 'data:text/html,<script>alert(1)</script>', 'vbscript:x'];
  for (const template of [...scripts, ...others, 'ssh://{ip_port}', '{ip_port}'])
    expect(await pageOf({ template }), template).not.toContain('<a ');
  const link = '<a id="endpoint-0" href="HTTP://192.0.2.1:8080/"';
  expect(await pageOf({ template: 'HTTP://{ip_port}/' })).toContain(link);
});

const HTTPS: Shown = { hostAddress: 'berth.example.org', origin: 'https://berth.example.org' };

test.each<[string, Shown]>([
  ['of the same address', { hostAddress: '127.0.0.1' }],
  ['of another name of loopback', { hostAddress: '127.0.0.1', origin: 'http://localhost:5001' }],
  ['of IPv6', { hostAddress: '::1' }],
  ['of https', { hostAddress: '127.0.0.1', template: 'https://{ip_port}/' }],
  ['of https beside Berth over https', { ...HTTPS, template: 'https://{ip_port}/' }],
  ['with the host in the description', { template: 'http://localhost:8080/' }],
  ['of the same name', { hostAddress: 'Berth.example.org', origin: 'http://berth.example.org:5001' }],
  ['of BERTH_PUBLIC_URL', { hostAddress: 'berth.example.org', publicUrl: 'http://berth.example.org' }],
])(
  'W230: an endpoint %s, to which browsers send cookies of Berth, leads to a page that warns',
  async (_, shown) => {
    const page = await pageOf(shown);
    expect(page).toMatch(/<a id="endpoint-0" href="\/executions\/12\/open\?url=https?%3A%2F%2F\S+%2F"/);
  },
);

test.each<[string, Shown]>([
  ['of another address of loopback', { hostAddress: '127.0.0.2' }],
  ['of another host', { hostAddress: '192.0.2.1' }],
  ['of http beside Berth over https', HTTPS],
])('W230: an endpoint %s is opened itself', async (_, shown) => {
  expect(await pageOf(shown)).toMatch(/<a id="endpoint-0" href="http:/);
});
