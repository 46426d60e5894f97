import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../control-plane/http/api/document.ts';
import type { Variant } from '../../../control-plane/http/variant.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { HttpClient } from '../../support/clients/http-client.ts';
import { bothGroups, type Group, onHosts } from '../../support/hosts/hosts.ts';

const documentOf = (name: Group) => {
  const variant: Variant = variants[name];
  if (!variant.documentedAs) throw new Error(`${name} has no document`);
  return openApiDocument(variant);
};

onHosts(bothGroups, (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());

  test('H180: the document is valid OpenAPI 3.1 of the group, and is public', async () => {
    const reply = await anonymous.get('/openapi.json');
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(await new Validator().validate(reply.json())).toEqual({ valid: true });
    expect(reply.json().openapi).toBe('3.1.0');
    const expected = documentOf(variant);
    expect(reply.json()).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  test("H186: Berth's own path has a document of its own, which is valid and public", async () => {
    const reply = await anonymous.get('/native/openapi.json');
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(await new Validator().validate(reply.json())).toEqual({ valid: true });
    expect(reply.json().servers).toEqual([{ url: '/native/api/0.7' }]);
    expect(reply.text).toContain('"max_time_limit"');
  });

  test('H182: an operation requires credentials exactly where the document states so', async () => {
    const { paths } = documentOf(variant);
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const relative = path.replace('{id}', '1');
        const concrete = operation.servers ? `${operation.servers[0]?.url}${relative}` : relative.slice(1);
        const { status } = await anonymous.send(method.toUpperCase(), concrete);
        expect([method, path, status === 401]).toEqual([method, path, operation.security.length > 0]);
      }
    }
  });

  test('H184: the page is public, and loads and allows only files of this host, and nothing inline', async () => {
    const page = await anonymous.get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
    expect(loaded).toHaveLength(4);
    for (const address of loaded) {
      const url = new URL(address, `${host().url()}/docs`);
      expect(url.origin).toBe(host().url());
      expect((await anonymous.get(url.pathname)).status, address).toBe(200);
    }
    const policy = page.headers['content-security-policy'];
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page.text).not.toMatch(/<script>|<style|style=|\son\w+=/);
  });

  test.each([
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['favicon-32x32.png', 'image/png'],
  ])(
    'H185: %s is the file of the package, with its type, and may be cached for a day',
    async (name, type) => {
      const reply = await fetch(`${host().url()}/docs/${name}`);
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toBe(type);
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
      expect(reply.headers.get('cache-control')).toBe('public, max-age=86400');
      const served = Buffer.from(await reply.arrayBuffer());
      expect(served.equals(await readFile(`node_modules/swagger-ui-dist/${name}`))).toBe(true);
    },
  );

  test.each([
    '/swagger-ui.css',
    '/swagger-ui-bundle.js',
    '/index.html',
    '/package.json',
    '/docs/',
    '/docs/index.html',
    '/docs/package.json',
    '/docs/swagger-ui-bundle.js.map',
    '/docs/constructor',
    '/docs/..%2fhono%2fpackage.json',
    '/docs/%2e%2e%2fpackage.json',
  ])('H185: %s is 404, because no other file of the package is served', async (path) => {
    const reply = await anonymous.get(path);
    expect(reply.status).toBe(404);
    expect(reply.json()).toEqual({ code: 'not-found', message: expect.stringContaining('There is no ') });
  });

  test('H304: a client that has the JSON Schema of descriptions gets 304, and that of any other format is 404', async () => {
    const path = '/schema/application-3.json';
    const { headers } = await anonymous.get(path);
    expect(headers['content-type']).toBe('application/schema+json; charset=utf-8');
    const again = await anonymous.with({ 'if-none-match': headers.etag ?? '' }).get(path);
    expect([again.status, again.text]).toEqual([304, '']);
    for (const other of ['/schema', '/schema/', '/schema/application-2.json', '/schema/constructor'])
      expect((await anonymous.get(other)).status, other).toBe(404);
  });
});
