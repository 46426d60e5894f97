/** Runs a real container with secrets, and looks for their values wherever Berth writes. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { application, script } from '../fixtures/descriptions.ts';
import type { Berth } from '../rigs/berth.ts';
import { eventually } from '../tools/eventually.ts';

/** Settings of a Berth for the checks. In this place, every machine has a file system in memory. */
export const secretSettings = () => ({
  BERTH_SECRET_KEYS: Buffer.alloc(32, randomUUID()).toString('base64'),
  BERTH_AGENT_SECRETS_DIR: `/dev/shm/berth-test-${randomUUID()}`,
});

/** A value in the environment, of a running container: it has it, and nothing that Berth writes does. */
export async function checkSecretEnvironment(berth: Berth): Promise<void> {
  const { api } = berth;
  const value = `s3cret-${randomUUID()}`;
  await api.setSecret('secret', 'DB_PASSWORD', value);
  const environment: [string, string][] = [
    ['DB_PASSWORD', '{secret#DB_PASSWORD}'],
    ['URL', '{user_name}:{secret#DB_PASSWORD}@db'],
  ];
  const command = 'echo $(echo $DB_PASSWORD | wc -c) $(echo $URL | cut -c 1-6); exec sleep 1000';
  const id = await api.run(application(script(command, { environment })));
  const [container] = await berth.containersOf(id);
  const { Config } = await berth.docker.getContainer(String(container?.Id)).inspect();
  expect(Config.Env).toContain(`DB_PASSWORD=${value}`);
  expect(
    JSON.stringify([await api.execution(id), await api.services(id), await api.explain(id)]),
  ).not.toContain(value);
  expect(await filesWith(berth.dataDir, value)).toEqual([]);
  expect(berth.program.output).not.toContain(value);
  await api.end(id);
  expect(await api.logText(id)).toBe(`${value.length + 1} admin:\n`);
}

/** Paths of the files beneath the folder that have the text. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const found = await Promise.all(
    // A file may have gone meanwhile.
    paths.map(async (path) => (await readFile(path).catch(() => Buffer.of())).includes(text)),
  );
  return paths.filter((_, at) => found[at]);
}

/**
 * Files with secret contents: an unprivileged container reads them and can't write them, they are in memory
 * only, outlive the agent, come back with a restarted service, and go with the container.
 */
export async function checkSecretFiles(
  berth: Berth,
  folder: string,
  restartAgent: () => Promise<void>,
): Promise<void> {
  const { api } = berth;
  const value = `s3cret-${randomUUID()}`;
  await api.setSecret('file', 'server.pem', Buffer.from(value).toString('base64'));
  const files = [{ name: 'server.pem', path: '/etc/app/key.pem' }];
  const command =
    'cat /etc/app/key.pem | wc -c; touch /etc/app/key.pem 2>/dev/null || echo read-only; ' +
    'trap "exit 3" TERM; while true; do sleep 0.1; done';
  const id = await api.run(
    application(
      script(command, { files, user: '1000', monitor: false }),
      script('sleep 1000', { name: 'keeper' }),
    ),
  );
  const [service] = await api.services(id);
  await eventually(async () => expect(await written(folder)).toEqual([value]));
  expect(await filesWith(berth.dataDir, value)).toEqual([]);
  await restartAgent();
  const containerId = String(service?.backend_id);
  await berth.docker.getContainer(containerId).stop({ t: 5 });
  const second = await eventually(async () => {
    const [again] = await api.services(id);
    if (again?.status !== 'active' || again.backend_id === containerId) throw new Error('not started again');
    return again;
  });
  expect(await written(folder)).toEqual([value]);
  const container = berth.docker.getContainer(second.backend_id);
  await eventually(async () => (await container.logs({ stdout: true })).includes('read-only'));
  const { HostConfig } = await container.inspect();
  expect(JSON.stringify(HostConfig)).not.toContain(value);
  await api.end(id);
  expect(await api.logText(id)).toBe(`${value.length}\nread-only\n`.repeat(2));
  await eventually(async () => expect(await written(folder)).toEqual([]));
  await rm(folder, { recursive: true });
}

async function written(folder: string): Promise<string[]> {
  const paths = await filesWith(folder, '');
  return Promise.all(paths.map((path) => readFile(path, 'utf8')));
}
