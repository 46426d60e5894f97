/** The app shop for programs, below Berth's own path, on both hosts. */
import { expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, expectAnswer, HttpClient } from '../../support/clients/http-client.ts';
import { addUser, setRole } from '../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const SHOP = '/native/api/0.7/shop';
/** Has a parameter of the kind `resources`. */
const SIZED = 'two-tier-0';

interface Entry {
  id: string;
  name: string;
  readme?: string;
  parameters: { key: string; default: string; may_change: boolean }[];
}

onHosts(hosts, (host) => {
  const { http: admin } = new ApiClient(host);

  test('H512: the shop lists what a role may see, with the parameters that it may change', async () => {
    const all = (await admin.get(SHOP)).json<Record<string, Entry>>();
    expect(Object.keys(all).sort()).toEqual(['elastic-batch-0', 'hello-0', 'two-tier-0']);
    const one = (await admin.get(`${SHOP}/elastic-batch-0`)).json<Entry>();
    expect(one).toEqual({ ...all['elastic-batch-0'], readme: expect.stringContaining('#') });
    expect(one.parameters.map(({ key }) => key)).toContain('service_count:worker');
    const missing = await admin.get(`${SHOP}/none-0`);
    expect([missing.status, missing.json().message]).toEqual([404, 'The shop has no such application.']);
  });

  test('H513: values are filled in, the answer can be submitted, and nothing is queued before', async () => {
    const waiting = async () => Object.keys((await admin.get('execution')).json()).length;
    const before = await waiting();
    const filled = await admin.post(`${SHOP}/elastic-batch-0`, { values: { 'service_count:worker': '7' } });
    const { application } = filled.json<{
      application: { services: { name: string; total_count: number }[] };
    }>();
    expect(application.services.find(({ name }) => name === 'worker')?.total_count).toBe(7);
    expect(await waiting()).toBe(before);
    const made = await admin.post('execution', { name: 'from the shop', application });
    expect(made.status, made.text).toBe(200);
    expect(await waiting()).toBe(before + 1);
  });

  test('H513: each value that is refused is a problem with its place', async () => {
    const values = { 'service_count:worker': 'many', 'environment:NONE': 'x' };
    const refused = await admin.post(`${SHOP}/elastic-batch-0`, { values });
    expect([refused.status, refused.json().problems]).toEqual([
      400,
      [
        { pointer: '/values/service_count:worker', message: 'must be a whole number' },
        { pointer: '/values/environment:NONE', message: 'is not a parameter of this application' },
      ],
    ]);
    for (const body of [{ values: { a: 1 } }, { values: [] }, { other: 1 }, 'text'])
      expect((await admin.post(`${SHOP}/elastic-batch-0`, body)).status).toBe(400);
  });

  test('H512, H513: strangers have no shop, and a role changes only what it may', async () => {
    const anonymous = new HttpClient(() => host().url());
    const calls = [
      anonymous.get(SHOP),
      anonymous.get(`${SHOP}/hello-0`),
      anonymous.post(`${SHOP}/hello-0`, {}),
    ];
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([401, 401, 401]);
    await setRole(host(), 'user', ['can_access_api']);
    await addUser(host(), 'shopper', 'secret words', 'user');
    const shopper = anonymous.with(basic('shopper', 'secret words'));
    const { parameters } = (await shopper.get(`${SHOP}/${SIZED}`)).json<Entry>();
    const sized = parameters.filter(({ key }) => key.startsWith('resources:'));
    expect(sized.map(({ may_change }) => may_change)).toEqual(sized.map(() => false));
    const [one] = sized;
    const values = { [one?.key ?? '']: String(2 * Number(one?.default)) };
    await expectAnswer(shopper.post(`${SHOP}/${SIZED}`, { values }), 400, 'can_customize_resources');
    expect((await admin.post(`${SHOP}/${SIZED}`, { values })).status).toBe(200);
  });
});
