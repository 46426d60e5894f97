/** `berth audit`: one control plane serves all tests. */
import { beforeAll, expect, test } from 'vitest';
import { adminLine } from '../support/clients/command-line.ts';
import { onHosts } from '../support/hosts/hosts.ts';

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  const berth = adminLine(host);
  beforeAll(async () => {
    for (const name of ['one', 'two', 'three']) await berth.run(['role', 'create', '--name', name]);
    await berth.run(['role', 'update', 'two', '--can-see-status', 'true']);
  });
  const listed = async (...words: string[]) => {
    const entries: { action: string; target_name: string }[] = await berth.json(['audit', ...words]);
    return entries.map(({ action, target_name }) => `${action} ${target_name}`);
  };

  test('L60: audit lists the latest entries by filters, the latest last', async () => {
    const roles = ['create-role one', 'create-role two', 'create-role three', 'update-role two'];
    expect(await listed('--target', 'role', '--since', '1h')).toEqual(roles);
    expect(await listed('--target', 'role', '--limit', '2')).toEqual(roles.slice(2));
    expect(await listed('--action', 'update-role', '--user', 'admin', '--limit', '0')).toEqual([
      'update-role two',
    ]);
    expect(await listed('--until', '1h')).toEqual([]);
    expect(await berth.refusal(['audit', '--limit', 'many'])).toBe(
      'many is not a number of entries; give one such as 100, or 0 for all.\n',
    );
    expect(await berth.refusal(['audit', '--action', 'dance'])).toContain('action:');
  });

  test('L61: the table has who, by what, from where, what, the target and the outcome; -q has ids', async () => {
    const { out } = await berth.run(['audit', '--target', 'role', '--limit', '1']);
    const [head, row] = out.split('\n');
    expect(head).toMatch(/^TIME +USER +BY +FROM +ACTION +TARGET +OUTCOME$/);
    expect(row).toMatch(
      / admin +session +127\.0\.0\.1 +update-role \(can_see_status\) +role\/\d+ two +done$/,
    );
    expect((await berth.run(['audit', '-q', '--limit', '2'])).out).toMatch(/^\d+\n\d+\n$/);
  });
});
