import { expect, test } from 'vitest';
import { mountProblem, watchVolumeRoots } from '../../../../agent/host/volume-roots.ts';

const mounts = [
  '21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '22 21 8:2 / /data rw,relatime - ext4 /dev/sda2 rw',
  '23 21 8:3 / /safe rw,nosuid,nodev,relatime shared:2 - xfs /dev/sda3 rw',
  '24 23 8:4 / /safe/with\\040blank rw,nodev - tmpfs none rw',
  '25 21 8:5 / /twice rw - ext4 /dev/sda5 rw',
  '26 25 8:6 / /twice rw,nosuid,nodev - ext4 /dev/sda6 rw',
].join('\n');

test('P108: a volume root is at fault if its mount lacks nosuid or nodev', () => {
  expect(mountProblem(['/data/volumes'], mounts)).toMatch(
    /that are mounted \/data without nosuid and nodev: /,
  );
  expect(mountProblem(['/srv'], mounts)).toContain('/ without nosuid and nodev');
  expect(mountProblem(['/safe/volumes', '/twice'], mounts)).toBeUndefined();
  expect(mountProblem(['/safety'], mounts)).toContain('/ without');
  // A mount beneath a volume root is at fault as well.
  expect(mountProblem(['/safe'], mounts)).toContain('/safe/with blank without nosuid:');
});
test('P108: the mounts of this machine are checked, unless there is no volume root', async () => {
  const found: (string | undefined)[] = [];
  const options = { found: (problem?: string) => found.push(problem), everyMs: 60_000 };
  (await watchVolumeRoots({ ...options, roots: [] }))();
  expect(found).toEqual([]);
  (await watchVolumeRoots({ ...options, roots: ['/proc'] }))();
  expect(found).toHaveLength(1);
});
