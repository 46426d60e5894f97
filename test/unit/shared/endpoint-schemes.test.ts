import { expect, test } from 'vitest';
import { problemsOf, withService } from '../../support/fixtures/problems.ts';

const problemsWith = (url_template: string) =>
  problemsOf(withService({ ports: [{ name: 'p', port_number: 80, protocol: 'tcp', url_template }] }));

test.each([
  'javascript:alert(1)//{ip_port}',
  'JavaScript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  ' javascript:alert(1)',
  '\x01\r\njavascript:alert(1)',
  'javascript\t:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'DATA:,x',
  'vbscript:x',
  'blob:http://{ip_port}/',
  'filesystem:http://{ip_port}/temporary/',
  'd\r\na\tta\n:text/html,x',
])('H325: %j is refused', (template) => {
  const schemes = 'javascript, vbscript, data, blob, filesystem';
  const message = `must not begin with a scheme that browsers run: ${schemes}`;
  expect(problemsWith(template)).toEqual([{ pointer: '/services/0/ports/0/url_template', message }]);
});

test.each([
  ' http://{ip_port}/',
  ...'http://{ip_port}/ HTTPS://{ip_port} bolt://{ip_port} jdbc:postgresql://{ip_port}/db'.split(' '),
  ...'spark://{ip_port} zookeeper://{ip_port} memcached://{ip_port} mongodb+srv://{ip_port}/'.split(' '),
  ...'x-anything+else.1:x file:///data javascripts:x xjavascript:1 data blob//x javascript/:x'.split(' '),
  'database://{ip_port}',
  // These have no scheme.
  ...['', '{ip_port}', '{ip_port}/path?x=javascript:1', '{proxy_path}', '/javascript:x', '1a:x'],
])('H325: %j is accepted, since no browser runs it', (template) => {
  expect(problemsWith(template)).toEqual([]);
});

test('H325: no accepted template becomes a URL that a browser would run', () => {
  for (const template of ['{ip_port}', '//{ip_port}', 'http://{ip_port}/', '\tx/{ip_port}'])
    for (const address of ['192.0.2.1:8080', '[2001:db8::1]:80', 'node1.example:8080']) {
      const url = URL.parse(template.replaceAll('{ip_port}', address), 'http://berth.example/');
      expect(url?.protocol).not.toMatch(/^(javascript|data|vbscript):$/);
    }
});
