/**
 * Every page of the web interface by its route, with visits that show it in its various states. A test
 * compares the routes with those of the app, so that no page is forgotten.
 */

/** A path to open, or a form to send. */
export type Visit = string | { path: string; fields: Readonly<Record<string, string>> };

/** Visits by the names of their pictures. */
export type Visits = Readonly<Record<string, Visit>>;

const PROGRAM = { port: '9', challenge: 'challenge-of-a-program-that-waits-1234567890' };
const JOB = { name: 'job', image: 'berth/busybox:1', memory: '64', memory_unit: 'MiB', life: 'ends' };

/** Before the login. */
export const LOGIN_PAGES: Readonly<Record<string, Visits>> = {
  'GET /login': { login: '/login', 'login-ended': '/login?next=%2Fexecutions%2F1&ended' },
  'POST /login': { 'login-failed': { path: '/login', fields: { username: 'nobody', password: 'a guess' } } },
};

/** Execution 1 runs, 4 waits, and host 1 is connected. `carla` is user 2. */
export const PAGES: Readonly<Record<string, Visits>> = {
  'GET /executions': {
    executions: '/executions',
    'executions-none': '/executions?name=no-such-name',
  },
  'POST /executions/all': {
    'bulk-confirmation': { path: '/executions/all', fields: { deed: 'delete', name: 'two' } },
  },
  'POST /executions/delete': { 'selected-confirmation': { path: '/executions/delete', fields: { id: '1' } } },
  'GET /executions/:id': { execution: '/executions/1', 'execution-queued': '/executions/4' },
  'POST /executions/:id/delete': { 'deletion-confirmation': { path: '/executions/4/delete', fields: {} } },
  'GET /executions/:id/open': { 'endpoint-gone': '/executions/1/open?url=http://127.0.0.1:1/' },
  'GET /executions/:id/logs': { log: '/executions/1/logs', logs: '/executions/3/logs' },
  'GET /executions/:id/services/:service/terminal': {
    terminal: '/executions/1/services/1/terminal',
    'terminal-none': '/executions/4/services/4/terminal',
  },
  'GET /executions/:id/services/:service/files': {
    files: '/executions/1/services/1/files',
    'files-refused': '/executions/1/services/1/files?path=/none',
    'files-none': '/executions/4/services/4/files',
  },
  'GET /executions/:id/usage': { usage: '/executions/1/usage', 'usage-none': '/executions/4/usage' },
  'GET /start': {
    'start-form': '/start',
    'start-description': '/start?by=description',
    'start-from': '/start?from=1',
  },
  'POST /start': {
    'start-problems': { path: '/start?by=form', fields: { ...JOB, image: '', action: 'submit' } },
    'start-forecast': { path: '/start?by=form', fields: { ...JOB, action: 'explain' } },
    'description-problems': { path: '/start?by=description', fields: { description: '{"name": 1}' } },
  },
  'GET /start/format': { 'start-format': '/start/format' },
  'GET /shop': { shop: '/shop' },
  'GET /shop/:id': { 'shop-entry': '/shop/elastic-batch-0' },
  'POST /shop/:id': { 'shop-problems': { path: '/shop/elastic-batch-0', fields: { name: '' } } },
  'GET /guide/:name': { guide: '/guide/user-guide' },
  'GET /cluster': { cluster: '/cluster', 'cluster-none': '/cluster?text=no-such-host' },
  'GET /cluster/hosts/:id': { host: '/cluster/hosts/1' },
  'GET /cluster/hosts/:id/remove': { 'host-removal': '/cluster/hosts/1/remove' },
  'GET /cluster/join': { 'add-a-host': '/cluster/join' },
  'POST /cluster/join': { 'join-token': { path: '/cluster/join', fields: {} } },
  'GET /admin/users': { users: '/admin/users', 'users-none': '/admin/users?text=no-such-user' },
  'GET /admin/users/new': { 'user-new': '/admin/users/new' },
  'POST /admin/users': { 'user-problems': { path: '/admin/users', fields: { username: '' } } },
  'GET /admin/users/:id': { user: '/admin/users/1', 'user-other': '/admin/users/2' },
  'GET /admin/users/:id/delete': { 'user-deletion': '/admin/users/2/delete' },
  'GET /admin/roles': { roles: '/admin/roles' },
  'GET /admin/roles/new': { 'role-new': '/admin/roles/new' },
  'POST /admin/roles': { 'role-problems': { path: '/admin/roles', fields: { name: '' } } },
  'GET /admin/roles/:id': { role: '/admin/roles/2' },
  'GET /admin/quotas': { quotas: '/admin/quotas' },
  'GET /admin/quotas/new': { 'quota-new': '/admin/quotas/new' },
  'POST /admin/quotas': { 'quota-problems': { path: '/admin/quotas', fields: { cores: '-1' } } },
  'GET /admin/quotas/:id': { quota: '/admin/quotas/1' },
  'GET /admin/audit': { audit: '/admin/audit', 'audit-none': '/admin/audit?user=nobody' },
  'GET /account': { account: '/account' },
  'POST /account/password': { 'password-problems': { path: '/account/password', fields: {} } },
  'GET /account/tokens': { tokens: '/account/tokens' },
  'POST /account/tokens': { 'token-problems': { path: '/account/tokens', fields: { name: '' } } },
  'GET /account/secrets': { secrets: '/account/secrets' },
  'POST /account/secrets/secret': {
    'secret-problems': { path: '/account/secrets/secret', fields: { secret_name: ' ' } },
  },
  'GET /account/command-line': {
    'command-line': `/account/command-line?${new URLSearchParams(PROGRAM)}`,
    'command-line-refused': '/account/command-line',
  },
  // No route: what is at no address, and what there is no more.
  '': { 'not-found': '/no-such-page', 'no-such-execution': '/executions/999' },
};

/** Routes that answer with no page of their own, and with what instead. */
export const OTHER_ROUTES: Readonly<Record<string, string>> = {
  'GET /': 'leads to the list',
  'GET /apps/open': 'leads to an application, at most by a page that goes on at once',
  'GET /cluster/hosts': 'leads to the cluster',
  'GET /guide': 'leads to the user guide',
  'GET /admin': 'leads to the users',
  'GET /assets/:name': 'a file',
  'GET /events': 'a stream',
  'GET /executions/:id/description.json': 'a file',
  'GET /executions/:id/logs/stream': 'a stream',
  'GET /executions/:id/logs/text': 'a file',
  'GET /executions/:id/logs/:service/text': 'a file',
  'GET /shop/:id/logo': 'a file',
  'GET /shop/:id/files/:name': 'a file',
  'POST /start/check': 'a part of the start page',
  'POST /login/command-line': 'a session for a program',
  'POST /account/command-line': 'leads the browser to a program, at once',
  'POST /account/email': 'the account, as POST /account/password',
  'POST /account/secrets/file': 'the secrets, as POST /account/secrets/secret',
  'POST /account/secrets/registry': 'the secrets, as POST /account/secrets/secret',
  'POST /admin/users/:id': 'the user, as POST /admin/users',
  'POST /admin/users/:id/password': 'the user, as POST /admin/users',
  'POST /admin/roles/:id': 'the role, as POST /admin/roles',
  'POST /admin/quotas/:id': 'the quota, as POST /admin/quotas',
  ...Object.fromEntries(
    [
      '/logout',
      '/executions/terminate',
      '/executions/:id/terminate',
      '/executions/:id/again',
      '/cluster/hosts/:id/drain',
      '/cluster/hosts/:id/undrain',
      '/cluster/hosts/:id/labels',
      '/cluster/hosts/:id/accept',
      '/cluster/hosts/:id/remove',
      '/admin/users/:id/delete',
      '/admin/users/:id/link',
      '/admin/users/:id/unlink',
      '/admin/roles/:id/delete',
      '/admin/quotas/:id/delete',
      '/account/tokens/:id/revoke',
      '/account/secrets/secret/:id/remove',
      '/account/secrets/file/:id/remove',
      '/account/secrets/registry/:id/remove',
    ].map((path) => [`POST ${path}`, 'leads to a page with a notice']),
  ),
};
