/** `berth shop`: one control plane serves all tests. */
import { expect, test } from 'vitest';
import { adminLine } from '../support/clients/command-line.ts';
import { onHosts } from '../support/hosts/hosts.ts';

onHosts([{ kind: 'node', variant: 'zoe-2018.12' }], (host) => {
  const berth = adminLine(host);

  test('L56: shop ls and get show the applications and their parameters, also of a site with a zoe variant', async () => {
    expect(await berth.outOf(['shop', 'ls', '-q'])).toBe('elastic-batch-0\nhello-0\ntwo-tier-0\n');
    const { out } = await berth.run(['shop', 'get', 'elastic-batch-0']);
    expect(out.replace(/ +/g, ' ')).toContain('service_count:worker Workers 4 1 to 16');
    const hello = { id: 'hello-0', readme: expect.any(String) };
    expect(await berth.json(['shop', 'get', 'hello-0'])).toMatchObject(hello);
  });

  test('L56: shop run fills in parameters by key or name, prints, and submits', async () => {
    const printed = await berth.run(['shop', 'run', 'elastic-batch-0', '--set', 'ROUNDS=7', '--print']);
    expect([printed.code, printed.out.includes('"ROUNDS",\n          "7"')]).toEqual([0, true]);
    const words = ['--set', 'service_count:worker=3', '--name', 'mine'];
    const { execution_id } = await berth.json(['shop', 'run', 'elastic-batch-0', ...words]);
    const made = await berth.json(['get', String(execution_id)]);
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
    ] as const)
      expect(await berth.refusal(['shop', 'run', 'elastic-batch-0', '--set', assignment])).toContain(error);
    expect(await berth.refusal(['shop', 'run', 'none-0'])).toContain('The shop has no such application.');
    const meant = /It has .*elastic-batch-0.*, and not two-t.*Did you mean two-tier-0\?/;
    for (const words of ['get two-tier', 'run two-teir-0', 'run two-tier --set a=1'])
      expect(await berth.refusal(['shop', ...words.split(' ')])).toMatch(meant);
    expect((await berth.run(['ps', '-q'])).out).toBe(before);
  });
});
