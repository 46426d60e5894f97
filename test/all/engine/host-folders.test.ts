/** Folders of the host in containers on a real Docker engine: what is mounted is what was checked. */
import { mkdir, rename } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { CPU_LIMIT, dockerRig } from '../../support/engines/docker-rig.ts';

const { scratch, makeEngine, assignment, run, exitOf } = dockerRig('folders');

describe('an agent that ends between creation and start', () => {
  const volumes = () => [{ name: 'in', path: `${scratch()}/root/data`, readOnly: true }];
  const command = ['test', '-e', '/mnt/in/second'];

  test('P114: the next agent replaces its container, which mounts the folder that is there by then', async () => {
    await mkdir(`${scratch()}/root/data`, { recursive: true });
    const rules = { volumeRoots: [`${scratch()}/root`] };
    const wanted = assignment({ volumes: volumes(), command });
    const { id: abandoned } = await makeEngine(rules).create(wanted, CPU_LIMIT);
    await rename(`${scratch()}/root/data`, `${scratch()}/root/old`);
    await mkdir(`${scratch()}/root/data/second`, { recursive: true });
    const { id } = await makeEngine(rules).start(wanted, abandoned, CPU_LIMIT, true);
    expect(id).not.toBe(abandoned);
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
});

describe('the user of a container', () => {
  const printsId = (expected: string) => ['sh', '-c', `test "$(id -u):$(id -g)" = ${expected}`];
  const endOf = async (changes: Partial<Assignment>, runAs: 'image' | 'fs_uid', folders = true) => {
    const on = makeEngine({ runAs, workspaceRoot: folders ? scratch() : null });
    const { id } = await run(changes, on);
    const end = await exitOf(id);
    await on.remove(id);
    return end;
  };

  test('C195, P109: a container runs as the user and group of its description', async () => {
    const command = printsId('1234:5678');
    expect(await endOf({ user: '1234:5678', command }, 'image')).toMatchObject({ exitCode: 0 });
  });
  test('P110: with BERTH_AGENT_RUN_AS=fs_uid a container with host folders runs as the fs_uid of its owner, and another as its image says', async () => {
    await mkdir(`${scratch()}/alice`);
    const [own, image] = [printsId('1003:1003'), printsId('0:0')];
    for (const user of [null, '1003', '1003:1003'])
      expect(await endOf({ user, ownerUid: 1003, command: own }, 'fs_uid')).toMatchObject({ exitCode: 0 });
    expect(await endOf({ ownerUid: 1003, command: image }, 'image')).toMatchObject({ exitCode: 0 });
    expect(await endOf({ ownerUid: 1003, command: image }, 'fs_uid', false)).toMatchObject({ exitCode: 0 });
  });
});
