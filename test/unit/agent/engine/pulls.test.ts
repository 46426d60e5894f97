import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { engineError } from '../../../../agent/engine/docker-error.ts';
import { PullProgress } from '../../../../agent/engine/images/pull-progress.ts';
import { findAuth, findLogin, registryOf } from '../../../../agent/engine/images/registry-auth.ts';
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
    ['docker.io/library/nginx', 'https://index.docker.io/v1/'],
    ['user/app', 'https://index.docker.io/v1/'],
    ['localhost/app', 'localhost'],
    ['reg.example/app:1', 'reg.example'],
  ])('the image %s comes from the registry %s', (image, registry) => {
    expect(registryOf(image)).toBe(registry);
  });
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
  test('the message of an error is only that of the engine', () => {
    const error = Object.assign(new Error('(HTTP code 500) server error - dial tcp: no such host '), {
      statusCode: 500,
    });
    expect(engineError(error).message).toBe('dial tcp: no such host');
  });
});
