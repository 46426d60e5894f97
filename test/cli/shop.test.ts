/** `berth shop`: one control plane serves all tests. */
import { expect, test } from 'vitest';
import { adminLine } from '../support/clients/command-line.ts';
import { onHosts, type Setup } from '../support/hosts/hosts.ts';

const setups: readonly Setup[] = [{ kind: 'node', variant: 'zoe-2018.12' }];

onHosts(setups, (host) => {
  const berth = adminLine(host);

  test('L56: shop ls and get show the applications and their parameters, also of a site with a zoe variant', async () => {
    expect(await berth.run(['shop', 'ls', '-q'])).toMatchObject({
      code: 0,
      out: 'elastic-batch-0\nhello-0\ntwo-tier-0\n',
    });
    const { out } = await berth.run(['shop', 'get', 'elastic-batch-0']);
    expect(out.replace(/ +/g, ' ')).toContain('service_count:worker Workers 4 1 to 16');
    const json = JSON.parse((await berth.run(['shop', 'get', 'hello-0', '--json'])).out);
    expect(json).toMatchObject({ id: 'hello-0', readme: expect.any(String) });
  });

  test('L56: shop run fills in parameters by key or name, prints, and submits', async () => {
    const printed = await berth.run(['shop', 'run', 'elastic-batch-0', '--set', 'ROUNDS=7', '--print']);
    expect([printed.code, printed.out.includes('"ROUNDS",\n          "7"')]).toEqual([0, true]);
    const words = ['--set', 'service_count:worker=3', '--name', 'mine', '--json'];
    const { code, out } = await berth.run(['shop', 'run', 'elastic-batch-0', ...words]);
    expect(code).toBe(0);
    const { execution_id } = JSON.parse(out);
    const made = JSON.parse((await berth.run(['get', String(execution_id), '--json'])).out);
    expect(made).toMatchObject({ name: 'mine' });
    expect(JSON.stringify(made)).toContain('"total_count":3');
  });

  test('L56: a parameter or value that is refused states what there is, and nothing is submitted', async () => {
    const before = (await berth.run(['ps', '-q'])).out;
    for (const [assignment, error] of [
      ['NONE=1', 'the application has no such parameter; it has environment:ROUNDS'],
      ['worker=3', 'several parameters have this name; give one of service_count:worker'],
      ['ROUNDS', 'give a parameter and its value'],
      ['ROUNDS=many', '/values/environment:ROUNDS: must be a whole number'],
    ] as const) {
      const { code, err } = await berth.run(['shop', 'run', 'elastic-batch-0', '--set', assignment]);
      expect([code, err]).toEqual([125, expect.stringContaining(error)]);
    }
    const { code, err } = await berth.run(['shop', 'run', 'none-0']);
    expect([code, err]).toEqual([125, expect.stringContaining('The shop has no such application.')]);
    for (const words of [
      ['get', 'two-tier'],
      ['run', 'two-teir-0'],
      ['run', 'two-tier', '--set', 'a=1'],
    ]) {
      const { err: meant } = await berth.run(['shop', ...words]);
      expect(meant).toMatch(/It has .*elastic-batch-0.*, and not two-t.*Did you mean two-tier-0\?/);
    }
    expect((await berth.run(['ps', '-q'])).out).toBe(before);
  });
});
