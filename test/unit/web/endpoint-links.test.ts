import { expect, test } from 'vitest';
import type { ServiceView } from '../../../control-plane/core/views/execution-views.ts';
import { endpoints } from '../../../control-plane/web/pages/executions/execution-endpoints.ts';
import { service } from '../../support/fixtures/descriptions.ts';

/** The endpoints on the page of an execution whose description has this template, however it was stored. */
const pageOf = (url_template: string): string => {
  const port = { name: 'p', port_number: 80, protocol: 'tcp' as const, url_template };
  const view = {
    status: 'active',
    hostAddress: '192.0.2.1',
    description: service({ ports: [port] }),
    ports: [{ port: 80, protocol: 'tcp', hostPort: 8080 }],
  };
  return String(endpoints([view as unknown as ServiceView], 'running', {}));
};

test.each([
  'javascript:alert(1)//{ip_port}',
  'JaVaScRiPt:alert(1)',
  'java\tscript:alert(1)',
  ' javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'ssh://{ip_port}',
  '{ip_port}',
])('H325: an older description with the endpoint %j makes no link', (template) => {
  expect(pageOf(template)).not.toContain('<a ');
});

test('H325: an endpoint of http is a link', () => {
  expect(pageOf('HTTP://{ip_port}/')).toContain('<a id="endpoint-0" href="HTTP://192.0.2.1:8080/"');
});
