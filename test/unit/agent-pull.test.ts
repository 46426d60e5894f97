import { describe, expect, test } from 'vitest';
import { engineError } from '../../agent/docker/docker-error.ts';
import { PullProgress } from '../../agent/docker/pull-progress.ts';
import { findAuth, registryOf } from '../../agent/docker/registry-auth.ts';

describe('the progress of a pull', () => {
  test('sums up the layers', () => {
    const progress = new PullProgress('nginx:alpine');
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 20e6, total: 40e6 } });
    progress.take({ id: 'b', status: 'Downloading', progressDetail: { current: 7e6, total: 20e6 } });
    expect(progress.describe()).toBe('pulling nginx:alpine 45% of 60 MB');
  });
  test('counts a finished layer whole', () => {
    const progress = new PullProgress('x');
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 1e6, total: 4e6 } });
    progress.take({ id: 'a', status: 'Download complete' });
    expect(progress.describe()).toBe('pulling x 100% of 4.0 MB');
  });
  test('says only the name while sizes are unknown', () => {
    const progress = new PullProgress('x');
    progress.take({ status: 'Pulling from library/x' });
    expect(progress.describe()).toBe('pulling x');
  });
});

describe('credentials', () => {
  const auth = Buffer.from('bob:pa:ss').toString('base64');

  test('are those of the image registry', () => {
    expect(
      findAuth({ auths: { 'https://reg.example:5000/v2/': { auth } } }, 'reg.example:5000/a/b:1'),
    ).toEqual({
      username: 'bob',
      password: 'pa:ss',
      serveraddress: 'reg.example:5000',
    });
  });
  test('of another registry are not used', () => {
    expect(findAuth({ auths: { 'reg.example': { auth } } }, 'nginx')).toBeUndefined();
  });
  test.each([
    ['nginx', 'https://index.docker.io/v1/'],
    ['docker.io/library/nginx', 'https://index.docker.io/v1/'],
    ['user/app', 'https://index.docker.io/v1/'],
    ['localhost/app', 'localhost'],
    ['reg.example/app:1', 'reg.example'],
  ])('%s comes from %s', (image, registry) => {
    expect(registryOf(image)).toBe(registry);
  });
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
    [answer(503, 'starting up'), 'temporary'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'unreachable'],
  ])('%o is %s', (error, kind) => {
    expect(engineError(error).kind).toBe(kind);
  });
  test('keep the words of the engine alone', () => {
    const error = Object.assign(new Error('(HTTP code 500) server error - dial tcp: no such host '), {
      statusCode: 500,
    });
    expect(engineError(error).message).toBe('dial tcp: no such host');
  });
});
