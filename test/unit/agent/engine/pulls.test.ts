import { chmod, readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { engineError, isNetworkMissing, tolerate } from '../../../../agent/engine/docker-error.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { PullProgress } from '../../../../agent/engine/images/pull-progress.ts';
import { findAuth, findLogin, loginOf, registryOf } from '../../../../agent/engine/images/registry-auth.ts';
import { kindOf } from '../../../../agent/engine/pulls/pulls.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const layer = (id: string, current?: number, total?: number) => ({
  ...{ id, status: 'Downloading', progressDetail: { current, total } },
});

test.each<[string, string, object[]]>([
  ['layers', ' 45% of 60 MB', [layer('a', 20e6, 40e6), layer('b', 7e6, 20e6)]],
  ['a finished layer', ' 100% of 4.0 MB', [layer('a', 1e6, 4e6), { id: 'a', status: 'Download complete' }]],
  ['an event without a layer', '', [{ ...layer('a', 1e6, 2e6), id: undefined }]],
  ['another step', '', [{ ...layer('a', 1e6, 2e6), status: 'Extracting' }]],
  ['a layer that was there', '', [{ id: 'a', status: 'Pull complete' }]],
  [
    'a layer that was pulled, and one that waits',
    ' 100% of 10 MB',
    [
      layer('a', undefined, 10.4e6),
      { id: 'a', status: 'Pull complete' },
      { id: 'b', status: 'Waiting', progressDetail: {} },
    ],
  ],
  ['a layer that begins', ' 0% of 9.6 MB', [layer('a', 0, 9.6e6), { id: 'a', status: 'Verifying Checksum' }]],
  ['a layer without its size', ' 50% of 0.0 MB', [layer('a', 1, 2), layer('a')]],
  ['no size', '', [{ status: 'Pulling from library/x' }]],
])('P43: after %s the text of a pull ends with %j', (_, end, events) => {
  const progress = new PullProgress('nginx:alpine');
  for (const event of events) progress.take(event);
  expect(progress.describe()).toBe(`pulling nginx:alpine${end}`);
});

test('P43: the credentials are those of the registry of the image', () => {
  const auth = Buffer.from('bob:pa:ss').toString('base64');
  const auths = { 'https://reg.example:5000/v2/': { auth } };
  const login = { username: 'bob', password: 'pa:ss', serveraddress: 'reg.example:5000' };
  expect(findAuth({ auths }, 'reg.example:5000/a/b:1')).toEqual(login);
  expect(findAuth({ auths: { 'reg.example': { auth } } }, 'nginx')).toBeUndefined();
  for (const image of ['nginx', 'nginx:1', 'index.docker.io/x', 'docker.io/library/x', 'user/app'])
    expect([image, registryOf(image)]).toEqual([image, 'https://index.docker.io/v1/']);
  expect(['localhost/app', 'reg.example/app:1'].map(registryOf)).toEqual(['localhost', 'reg.example']);
});

test.each([
  ['docker.io', 'bob', { serveraddress: 'https://index.docker.io/v1/', username: 'bob', password: 's' }],
  ['reg.example', 'bob', { serveraddress: 'reg.example', username: 'bob', password: 's' }],
  ['reg.example', '<token>', { serveraddress: 'reg.example', identitytoken: 's' }],
])('P233: the engine gets the credentials for %s of %s as %j', (registry, username, auth) => {
  expect(loginOf({ id: '1.1', password: 's', ofAll: false, registry, username }).auth).toEqual(auth);
});

/** A folder with this config, as DOCKER_CONFIG, and with its own programs. */
async function home(config: string, helper = ''): Promise<NodeJS.ProcessEnv & { folder: string }> {
  const folder = await testFolder();
  await writeFile(`${folder}/config.json`, config);
  await writeFile(`${folder}/docker-credential-test`, `#!/bin/sh\n${helper}\n`);
  await chmod(`${folder}/docker-credential-test`, 0o700);
  return { ...process.env, DOCKER_CONFIG: folder, PATH: `${folder}:${process.env.PATH}`, folder };
}

test('P43: a config that is none is reported, its invalid fields are ignored, and the pull is anonymous', async () => {
  for (const config of ['null', '[]', '"text"', '7']) {
    const env = await home(config);
    const problem = `${env.folder}/config.json is not a Docker config file`;
    expect(await findLogin(env, 'nginx')).toEqual({ problem });
  }
  for (const config of [
    '{"auths":null,"credHelpers":7,"credsStore":[]}',
    '{"auths":{"reg.example":null}}',
    '{"auths":{"reg.example":{"auth":7}}}',
  ])
    expect(await findLogin(await home(config), 'reg.example/app')).toEqual({ auth: undefined });
  const invalid = { problem: 'the name of the credential helper is invalid' };
  expect(await findLogin(await home('{"credsStore":"../x"}'), 'nginx')).toMatchObject(invalid);
});
test.each([
  ['{"Username":"bob","Secret":"s"}', { username: 'bob', password: 's' }],
  ['{"Username":"<token>","Secret":"s"}', { identitytoken: 's' }],
  ['{"Username":"","Secret":"s"}', { username: 'eve', password: 'p' }],
  ['{"Username":"bob"}', { username: 'eve', password: 'p' }],
])('P43: of the helper for the registry that answers %s the login is %j', async (answer, login) => {
  const auths = { 'reg.example': { username: 'eve', password: 'p' } };
  const config = { auths, credHelpers: { 'https://reg.example': 'test' }, credsStore: 'none' };
  const env = await home(JSON.stringify(config), `test "$(cat)" = reg.example && echo '${answer}'`);
  const auth = { ...login, serveraddress: 'reg.example' };
  expect(await findLogin(env, 'reg.example/app')).toEqual({ auth });
});
test('P45, P73: a helper receives none of the settings of Berth, and HOME even if the agent was started without it', async () => {
  const env = await home('{"credsStore":"test"}', 'env >"$DOCKER_CONFIG/env"; exit 1');
  expect(await findLogin({ ...env, BERTH_JOIN_TOKEN: 'secret', HOME: undefined }, 'nginx')).toMatchObject({
    problem: 'docker-credential-test failed: exit code 1',
  });
  const helperEnv = await readFile(`${env.folder}/env`, 'utf8');
  expect(helperEnv).toContain('PATH=');
  expect(helperEnv).toMatch(/^HOME=\/.*$/m);
  expect(helperEnv).not.toContain('BERTH');
});
test('P73: a helper that takes too long is killed, even if it ignores SIGTERM', async () => {
  const env = await home('{"credsStore":"test"}', "trap '' TERM; exec sleep 1000");
  // The call returns only after the helper has ended.
  expect(await findLogin(env, 'nginx', 300)).toMatchObject({
    problem: 'docker-credential-test failed: it took too long',
  });
});

test('P43, P305: a failed pull is temporary if the network or the registry failed', () => {
  for (const message of [
    'Get "https://reg.example/v2/": dial tcp: lookup reg.example: no such host',
    'received unexpected HTTP status: 503 Service Unavailable',
    'error parsing HTTP 408 response body: invalid character',
    'Get "https://reg.example/v2/": unexpected EOF',
    'read tcp 10.0.0.2:5000->10.0.0.1:443: read: connection timed out',
    'read tcp 10.0.0.2:5000->10.0.0.1:443: use of closed network connection',
    'http2: server sent GOAWAY and closed the connection; LastStreamID=1',
    'stream error: stream ID 5; INTERNAL_ERROR; received from peer',
  ])
    expect([message, kindOf(message)]).toEqual([message, 'temporary']);
  for (const message of [
    'manifest for reg.example/eof:503 not found: manifest unknown',
    'http: server gave HTTP response to HTTPS client',
  ])
    expect([message, kindOf(message)]).toEqual([message, 'permanent']);
});

const answer = (statusCode: number, message: string) => ({
  statusCode,
  json: { message },
  message: 'framed',
});

const notFound = 'executable file not found in $PATH';
test.each([
  ['image-missing', [404, 'No such image: x:1']],
  ['permanent', [400, 'invalid reference format']],
  ['permanent', [400, `OCI runtime create failed: exec: "x": ${notFound}`]],
  ['permanent', [500, 'OCI runtime create failed: exec: "/x": permission denied: unknown']],
  ['temporary', [500, 'mkdir /var/lib/x: no space left on device']],
  ['temporary', [500, 'containerd: context deadline exceeded']],
  // The engine picks the ports and the address range of a network: no description could do better.
  ['temporary', [500, 'Error starting userland proxy: listen tcp4 0.0.0.0:9: bind: address already in use']],
  ['temporary', [500, 'Bind for 0.0.0.0:32768 failed: port is already allocated']],
  ['temporary', [404, 'could not find an available, non-overlapping IPv4 address pool among the defaults']],
  ['temporary', [503, 'starting up']],
  ['permanent', [500, 'invalid reference format']],
  ['permanent', [409, 'of some other sort']],
  ['temporary', [500, 'No such image: x:1']],
  // What users have named does not classify an error.
  ['permanent', [400, `OCI runtime create failed: exec: "timeout": ${notFound}`]],
  ['permanent', [400, `exec: "address already in use": ${notFound}`]],
  ['temporary', [500, 'failed to create task: "not a directory": i/o problem']],
] as const)('an error is %s if the engine answers %j', (kind, [status, message]) => {
  expect(engineError(answer(status, message)).kind).toBe(kind);
});
test('an error that is no answer of the engine is unreachable, unless the agent has classified it', () => {
  expect(engineError(new EngineError('permanent', 'no')).kind).toBe('permanent');
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const aborted = Object.assign(new Error('aborted'), { name: 'AbortError' });
  for (const error of [refused, aborted, null]) expect(engineError(error).kind).toBe('unreachable');
});
test.each([
  ['Could not attach to network net: rpc error: code = NotFound', 'does not exist in the swarm'],
  ['Could not attach to network net: rpc error: code = PermissionDenied', 'is not attachable'],
  ['failed to mount local volume: mount /proc/7/fd/8', 'may have been removed meanwhile'],
  ['listen tcp 10.0.0.5:80: cannot assign requested address', 'correct BERTH_AGENT_BIND'],
])('the error %j is temporary, and its message is %s', (text, message) => {
  const error = { kind: 'temporary', message: expect.stringContaining(message) };
  expect(engineError(answer(500, text))).toMatchObject(error);
});
test('only the network of a container is missing in an answer of 404', async () => {
  const words = 'network net not found';
  const missing = [answer(404, words), answer(500, words), answer(404, 'no')].map(isNetworkMissing);
  expect(missing).toEqual([true, false, false]);
  await tolerate(Promise.reject(answer(404, 'gone')), [304, 404]);
  await expect(tolerate(Promise.reject(new Error('away')), [404])).rejects.toThrow(EngineError);
});
test('the message of an error is only that of the engine', () => {
  const error = Object.assign(new Error('(HTTP code 500) server error - dial tcp: no such host '), {
    statusCode: 500,
  });
  expect(engineError(error).message).toBe('dial tcp: no such host');
});
