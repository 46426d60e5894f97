/** Permissions at every endpoint: each row of the table with each actor. */
import { beforeAll, expect, test } from 'vitest';
import { type Actor, makeActors, restrictActors } from '../../support/agents/actors.ts';
import { registeredHost } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import type { HttpClient } from '../../support/clients/http-client.ts';
import type { Ended, Row, World } from '../../support/fixtures/authorisation-row.ts';
import { expectedOf, submit, TABLE } from '../../support/fixtures/authorisation-table.ts';
import { eitherGroup, type Group, onHostsWith } from '../../support/hosts/hosts.ts';
import { fewAtATime } from '../../support/tools/few-at-a-time.ts';
import { routesOf } from '../../support/tools/routes.ts';

/** The endpoints of the app, as rows name them. */
const endpointsOf = (group: Group): string[] =>
  routesOf(group).map(({ method, path }) => `${method} ${path.replace('/api/0.7/', '')}`);

async function headOf(client: HttpClient, method: string, path: string): Promise<{ status: number }> {
  const response = await client.open(method, path);
  response.destroy();
  return { status: response.statusCode ?? 0 };
}

/** For twenty logins and a hundred executions on a busy machine. */
const SETUP_MS = 180_000;

onHostsWith(
  { BERTH_SECRET_KEYS: Buffer.alloc(32, 5).toString('base64') },
  eitherGroup,
  (host, { variant }) => {
    const rows = TABLE.filter(({ group }) => group === undefined || group === variant);
    const objects = new Map<Row, number[]>();
    let actors: Actor[];
    let world: World;

    beforeAll(async () => {
      const admin = new ApiClient(host);
      const created = await makeActors(host());
      const { stranger } = created;
      actors = created.actors;
      const end = async ({ name, http }: Actor): Promise<[string, Ended]> => {
        const id = await submit(http);
        await admin.terminate(id);
        return [name, await admin.execution(id)];
      };
      const owners = [stranger, ...actors].filter(({ userId }) => userId !== '');
      const makeHost = async (name: string) => (await registeredHost(host(), name)).id;
      world = { admin, makeHost, stranger, ended: new Map(await fewAtATime(owners, end)) };
      for (const row of rows) {
        const prepare = (actor: Actor) => row.prepare?.(world, actor) ?? 0;
        objects.set(row, await fewAtATime(actors, prepare));
      }
      await restrictActors(host());
    }, SETUP_MS);

    test('H200: every endpoint is in the table of permissions', () => {
      expect(endpointsOf(variant).sort()).toEqual([...new Set(rows.map(({ endpoint }) => endpoint))].sort());
    });

    // In the order of the table, because the last row deletes its users.
    test.each(rows)(
      'H200: $endpoint ($what) answers each actor by its role, and a refusal leaves no trace',
      async (row) => {
        const method = row.endpoint.split(' ')[0] ?? '';
        const answers = await fewAtATime(actors, async (actor, nth) => {
          const id = objects.get(row)?.[nth] ?? 0;
          const { path, body, headers = {} } = row.request(id, actor, world);
          const client = actor.http.with(headers);
          const { status } = row.endless
            ? await headOf(client, method, path)
            : await client.send(method, path, body && JSON.stringify(body));
          return { actor: actor.name, status, happened: await row.happened?.(world, id, actor) };
        });
        const expected = actors.map((actor) => {
          const status = expectedOf(row, actor);
          return { actor: actor.name, status, happened: row.happened && status === 200 };
        });
        expect(answers).toEqual(expected);
      },
    );
  },
);
