/**
 * Documentation of the API: the OpenAPI document, and a page of Swagger UI that shows it. Outside of the API
 * and without credentials; the page loads nothing from other hosts.
 */
import { Hono } from 'hono';
import { OperationError } from '../../core/model/errors.ts';
import { API_PATH } from '../../version.ts';
import { contentPolicy, file, type ReadFile } from '../files.ts';
import { jsonText } from '../json/render.ts';
import type { Env } from '../request.ts';
import type { Variant } from '../variant.ts';

export const DOCS_PATH = '/docs';

/** The only files of the package that are served. */
const SWAGGER_FILES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** The document of `variant`, which is served below `apiPath`. */
export function documentRoute(path: string, variant: Variant, apiPath: string): Hono<Env> {
  let text: string | undefined;
  return new Hono<Env>().get(path, async () => {
    // The text is cached and not the promise: workerd ends a request as hung if it awaits work that another
    // one began.
    text ??= await documentText(variant, apiPath);
    return jsonText(text);
  });
}

export function docsRoutes(variant: Variant, swaggerFile: ReadFile): Hono<Env> {
  const routes = new Hono<Env>();
  routes.route('/', documentRoute('/openapi.json', variant, API_PATH));
  routes.get(DOCS_PATH, () => file(PAGE, 'text/html; charset=utf-8', { 'content-security-policy': POLICY }));
  routes.get('/docs/initialise.js', () => file(INITIALISE, 'text/javascript; charset=utf-8'));
  routes.get('/docs/page.css', () => file(STYLE, 'text/css; charset=utf-8'));
  routes.get('/docs/:name', async (c) => {
    const name = c.req.param('name');
    const type = Object.hasOwn(SWAGGER_FILES, name) && SWAGGER_FILES[name];
    if (!type) throw new OperationError('not-found', `There is no ${c.req.path} here.`);
    // These files change only with the package.
    return file(await swaggerFile(name), type, { 'cache-control': 'public, max-age=86400' });
  });
  return routes;
}

async function documentText(variant: Variant, apiPath: string): Promise<string> {
  const { openApiDocument } = await import('../api/document.ts');
  return JSON.stringify(openApiDocument(variant, apiPath));
}

/** Swagger's styles contain inline pictures. */
const POLICY = contentPolicy("'none'");

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth: the API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initialise.js"></script>
</body>
</html>
`;

/** The way back, and dark colours where the browser has them: Swagger's own styles know white only. */
const STYLE = `:root { color-scheme: light dark; }
body { margin: 0; }
nav { padding: 0.75rem 1.25rem; font: 600 1rem system-ui, sans-serif; }
nav a { color: #0b6e99; }
@media (prefers-color-scheme: dark) {
  body { background: #11171d; }
  nav a { color: #6cc4e8; }
  #page { filter: invert(0.9) hue-rotate(180deg); }
}
`;

/** Without a validator, which would be on another host. Nothing of the page is there without script. */
const INITIALISE = `const back = document.createElement('nav');
back.innerHTML = '<a href="/">Back to Berth</a>';
document.body.prepend(back);
const style = document.createElement('link');
Object.assign(style, { rel: 'stylesheet', href: 'docs/page.css' });
document.head.append(style);
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  deepLinking: true,
  docExpansion: 'list',
  validatorUrl: null,
});
`;
