import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { engineError, isNetworkMissing, tolerate } from '../../../../agent/engine/docker-error.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { PullProgress } from '../../../../agent/engine/images/pull-progress.ts';
import { findAuth, findLogin, loginOf, registryOf } from '../../../../agent/engine/images/registry-auth.ts';
import { kindOf } from '../../../../agent/engine/pulls/pulls.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

describe('the progress of a pull', () => {
  test('the progress is the sum of the layers', () => {
    const progress = new PullProgress('nginx:alpine');
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 20e6, total: 40e6 } });
    progress.take({ id: 'b', status: 'Downloading', progressDetail: { current: 7e6, total: 20e6 } });
    expect(progress.describe()).toBe('pulling nginx:alpine 45% of 60 MB');
  });
  test('a finished layer counts in full', () => {
    const progress = new PullProgress('x');
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 1e6, total: 4e6 } });
    progress.take({ id: 'a', status: 'Download complete' });
    expect(progress.describe()).toBe('pulling x 100% of 4.0 MB');
  });
  test.each<[string, string, object[]]>([
    [
      'an event without a layer',
      '',
      [{ status: 'Downloading', progressDetail: { current: 1e6, total: 2e6 } }],
    ],
    ['another step', '', [{ id: 'a', status: 'Extracting', progressDetail: { current: 1e6, total: 2e6 } }]],
    ['a layer that was there', '', [{ id: 'a', status: 'Pull complete' }]],
    [
      'a layer that was pulled, and one that waits',
      ' 100% of 10 MB',
      [
        { id: 'a', status: 'Downloading', progressDetail: { total: 10.4e6 } },
        { id: 'a', status: 'Pull complete' },
        { id: 'b', status: 'Waiting', progressDetail: {} },
      ],
    ],
    [
      'a layer that begins',
      ' 0% of 9.6 MB',
      [
        { id: 'a', status: 'Downloading', progressDetail: { current: 0, total: 9.6e6 } },
        { id: 'a', status: 'Verifying Checksum' },
      ],
    ],
    [
      'a layer without its size',
      ' 50% of 2 B',
      [
        { id: 'a', status: 'Downloading', progressDetail: { current: 1, total: 2 } },
        { id: 'a', status: 'Downloading', progressDetail: {} },
      ],
    ],
  ])('P43: after %s the text ends with %j', (_, end, events) => {
    const progress = new PullProgress('x');
    for (const event of events) progress.take(event);
    expect(progress.describe()).toBe(`pulling x${end.replace('2 B', '0.0 MB')}`);
  });
  test('the text has only the name while sizes are unknown', () => {
    const progress = new PullProgress('x');
    progress.take({ status: 'Pulling from library/x' });
    expect(progress.describe()).toBe('pulling x');
  });
});

describe('credentials', () => {
  const auth = Buffer.from('bob:pa:ss').toString('base64');

  test('the credentials are those of the registry of the image', () => {
    expect(
      findAuth({ auths: { 'https://reg.example:5000/v2/': { auth } } }, 'reg.example:5000/a/b:1'),
    ).toEqual({
      username: 'bob',
      password: 'pa:ss',
      serveraddress: 'reg.example:5000',
    });
  });
  test('the credentials of another registry are not used', () => {
    expect(findAuth({ auths: { 'reg.example': { auth } } }, 'nginx')).toBeUndefined();
  });
  test.each([
    ['nginx', 'https://index.docker.io/v1/'],
    ['nginx:1.25', 'https://index.docker.io/v1/'],
    ['index.docker.io/nginx', 'https://index.docker.io/v1/'],
    ['docker.io/library/nginx', 'https://index.docker.io/v1/'],
    ['user/app', 'https://index.docker.io/v1/'],
    ['localhost/app', 'localhost'],
    ['reg.example/app:1', 'reg.example'],
  ])('the image %s comes from the registry %s', (image, registry) => {
    expect(registryOf(image)).toBe(registry);
  });
});

test.each([
  [
    { registry: 'docker.io', username: 'bob' },
    { serveraddress: 'https://index.docker.io/v1/', username: 'bob' },
  ],
  [
    { registry: 'reg.example', username: 'bob' },
    { serveraddress: 'reg.example', username: 'bob' },
  ],
  [
    { registry: 'reg.example', username: '<token>' },
    { serveraddress: 'reg.example', identitytoken: 's' },
  ],
])('P233: the engine gets the credentials %j as %j', (credentials, auth) => {
  const login = loginOf({ id: '1.1', password: 's', ofAll: false, ...credentials });
  expect(login.auth).toEqual('identitytoken' in auth ? auth : { ...auth, password: 's' });
});

describe('the Docker config', () => {
  /** A folder with this config, as DOCKER_CONFIG, and with its own programs. */
  async function home(config: string, helper = ''): Promise<NodeJS.ProcessEnv & { folder: string }> {
    const folder = await scratchFolder('berth-pull-');
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(`${folder}/config.json`, config);
    await writeFile(`${folder}/docker-credential-test`, `#!/bin/sh\n${helper}\n`);
    await chmod(`${folder}/docker-credential-test`, 0o700);
    return { ...process.env, DOCKER_CONFIG: folder, PATH: `${folder}:${process.env.PATH}`, folder };
  }

  test.each(['null', '[]', '"text"', '7'])(
    'P43: a config that is %s is reported, and the pull is anonymous',
    async (config) => {
      const env = await home(config);
      expect(await findLogin(env, 'nginx')).toEqual({
        problem: `${env.folder}/config.json is not a Docker config file`,
      });
    },
  );
  test.each([
    '{"auths":null,"credHelpers":7,"credsStore":[]}',
    '{"auths":{"reg.example":null}}',
    '{"auths":{"reg.example":{"auth":7}}}',
  ])('P43: the invalid fields of the config %s are ignored', async (config) => {
    expect(await findLogin(await home(config), 'reg.example/app')).toEqual({ auth: undefined });
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
    expect(await findLogin(await home('{"credsStore":"../x"}'), 'nginx')).toMatchObject({
      problem: 'the name of the credential helper is invalid',
    });
  });
  test('P73: a helper receives none of the settings of Berth, above all not the join token', async () => {
    const env = await home('{"credsStore":"test"}', 'env >"$DOCKER_CONFIG/env"; exit 1');
    expect(await findLogin({ ...env, BERTH_JOIN_TOKEN: 'secret' }, 'nginx')).toMatchObject({
      problem: 'docker-credential-test failed: exit code 1',
    });
    const helperEnv = await readFile(`${env.folder}/env`, 'utf8');
    expect(helperEnv).toContain('PATH=');
    expect(helperEnv).not.toContain('BERTH');
  });
  test('P45: a helper gets HOME even if the agent was started without it, as by systemd', async () => {
    const env = await home('{"credsStore":"test"}', 'env >"$DOCKER_CONFIG/env"; exit 1');
    await findLogin({ ...env, HOME: undefined }, 'nginx');
    expect(await readFile(`${env.folder}/env`, 'utf8')).toMatch(/^HOME=\/.*$/m);
  });
  test('P73: a helper that takes too long is killed, even if it ignores SIGTERM', async () => {
    const env = await home('{"credsStore":"test"}', "trap '' TERM; exec sleep 1000");
    // The call returns only after the helper has ended.
    expect(await findLogin(env, 'nginx', 300)).toMatchObject({
      problem: 'docker-credential-test failed: it took too long',
    });
  });
});

test.each([
  ['Get "https://reg.example/v2/": dial tcp: lookup reg.example: no such host', 'temporary'],
  ['received unexpected HTTP status: 503 Service Unavailable', 'temporary'],
  ['error parsing HTTP 408 response body: invalid character', 'temporary'],
  ['Get "https://reg.example/v2/": unexpected EOF', 'temporary'],
  ['read tcp 10.0.0.2:5000->10.0.0.1:443: read: connection timed out', 'temporary'],
  ['read tcp 10.0.0.2:5000->10.0.0.1:443: use of closed network connection', 'temporary'],
  ['http2: server sent GOAWAY and closed the connection; LastStreamID=1', 'temporary'],
  ['stream error: stream ID 5; INTERNAL_ERROR; received from peer', 'temporary'],
  ['manifest for reg.example/eof:503 not found: manifest unknown', 'permanent'],
  ['http: server gave HTTP response to HTTPS client', 'permanent'],
])('P43, P305: the failed pull %j is %s', (message, kind) => {
  expect(kindOf(message)).toBe(kind);
});

describe('errors of the engine', () => {
  const answer = (statusCode: number, message: string) => ({
    statusCode,
    json: { message },
    message: 'framed',
  });

  test.each([
    [answer(404, 'No such image: x:1'), 'image-missing'],
    [answer(400, 'invalid reference format'), 'permanent'],
    [answer(400, 'OCI runtime create failed: exec: "x": executable file not found in $PATH'), 'permanent'],
    [answer(500, 'OCI runtime create failed: exec: "/x": permission denied: unknown'), 'permanent'],
    [answer(500, 'mkdir /var/lib/x: no space left on device'), 'temporary'],
    [answer(500, 'containerd: context deadline exceeded'), 'temporary'],
    // The engine picks the ports and the address range of a network: no description could do better.
    [
      answer(500, 'Error starting userland proxy: listen tcp4 0.0.0.0:9: bind: address already in use'),
      'temporary',
    ],
    [answer(500, 'Bind for 0.0.0.0:32768 failed: port is already allocated'), 'temporary'],
    [
      answer(404, 'could not find an available, non-overlapping IPv4 address pool among the defaults'),
      'temporary',
    ],
    [answer(503, 'starting up'), 'temporary'],
    [answer(500, 'invalid reference format'), 'permanent'],
    [answer(409, 'of some other sort'), 'permanent'],
    [answer(500, 'No such image: x:1'), 'temporary'],
    [new EngineError('permanent', 'no'), 'permanent'],
    [Object.assign(new Error('aborted'), { name: 'AbortError' }), 'unreachable'],
    [null, 'unreachable'],
    // What users have named does not classify an error.
    [
      answer(400, 'OCI runtime create failed: exec: "timeout": executable file not found in $PATH'),
      'permanent',
    ],
    [answer(400, 'exec: "address already in use": executable file not found in $PATH'), 'permanent'],
    [answer(500, 'failed to create task: "not a directory": i/o problem'), 'temporary'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'unreachable'],
  ])('the error %o is classified as %s', (error, kind) => {
    expect(engineError(error).kind).toBe(kind);
  });
  test.each([
    [
      answer(500, 'Could not attach to network net: rpc error: code = NotFound'),
      'does not exist in the swarm',
    ],
    [answer(500, 'Could not attach to network net: rpc error: code = PermissionDenied'), 'is not attachable'],
    [answer(500, 'failed to mount local volume: mount /proc/7/fd/8'), 'may have been removed meanwhile'],
    [answer(500, 'listen tcp 10.0.0.5:80: cannot assign requested address'), 'correct BERTH_AGENT_BIND'],
  ])('the error %o is temporary, and its message is %s', (error, message) => {
    expect(engineError(error)).toMatchObject({
      kind: 'temporary',
      message: expect.stringContaining(message),
    });
  });
  test('only the network of a container is missing in an answer of 404', async () => {
    const words = 'network net not found';
    expect([answer(404, words), answer(500, words), answer(404, 'no')].map(isNetworkMissing)).toEqual([
      ...[true, false, false],
    ]);
    await tolerate(Promise.reject(answer(404, 'gone')), [304, 404]);
    await expect(tolerate(Promise.reject(new Error('away')), [404])).rejects.toThrow(EngineError);
  });
  test('the message of an error is only that of the engine', () => {
    const error = Object.assign(new Error('(HTTP code 500) server error - dial tcp: no such host '), {
      statusCode: 500,
    });
    expect(engineError(error).message).toBe('dial tcp: no such host');
  });
});
