/** The command line of release 2018.12 against a real engine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ZoeClient } from '../../../support/clients/zoe-client.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let berth: Berth;
beforeAll(async () => {
  berth = await startBerth({
    deployment: 'e2e-zoe',
    env: { BERTH_API_VARIANT: 'zoe-2018.12', BERTH_AGENT_NAME: 'worker1' },
  });
});
afterAll(() => berth.close());

test('H150, H162: the released command line follows a real container, with its time before each line', async () => {
  const client = await ZoeClient.login(() => berth.url, '2018.12', 'admin', PASSWORD);
  const beforeS = Math.floor(Date.now() / 1000);
  const id = await client.start('real', application(script('echo one; echo; printf "two words"')));
  const { services } = (await client.get(id)) ?? {};
  const [service = 0] = services as number[];
  const lines: [string, string][] = [];
  for await (const line of client.logs(service)) lines.push(line);
  expect(lines[0]).toEqual(['ZOE', 'HEADER: log file for service main0 running on host worker1']);
  const texts = lines.slice(1).map(([date, rest]) => {
    const [, time = '', text] = /^(\d\d:\d\d:\d\d) (.*)$/.exec(rest) ?? [];
    const timeS = Date.parse(`${date}T${time}Z`) / 1000;
    expect(timeS).toBeGreaterThanOrEqual(beforeS);
    expect(timeS).toBeLessThanOrEqual(Date.now() / 1000);
    return text;
  });
  expect(texts).toEqual(['one', '', 'two words']);
  await eventually(async () => (await client.get(id))?.status === 'terminated');
  expect(await client.service(service)).toMatchObject({ essential: true, backend_host: 'worker1' });
  await client.delete(id);
});
