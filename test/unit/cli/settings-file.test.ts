/** The settings file of the control plane's service. */
import { expect, test } from 'vitest';
import { settingsIn, settingsText } from '../../../cli/machine/settings-file.ts';

const OWN = { BERTH_DATA_DIR: '/var/lib/berth-server', BERTH_LOCAL_AGENT: 'off' };

test('L89: the settings of the control plane are taken, and those of other programs are not', () => {
  const names = ['BERTH_URL', 'BERTH_TOKEN', 'BERTH_AGENT_NAME', 'BERTH_JOIN_TOKEN', 'PATH'];
  const others = Object.fromEntries(names.map((name) => [name, 'x']));
  const taken = { BERTH_PORT: '5002', BERTH_AGENT_RELEASE: '/srv' };
  const text = settingsText('', { ...taken, BERTH_SHOP: '', ...others });
  expect(settingsIn(text)).toEqual({ ...taken, ...OWN });
  // What is written is read again as it was.
  const value = ' back\\slash "quotes" $HOME #1 = ';
  expect(settingsIn(settingsText('', { BERTH_ADMIN_PASSWORD: value })).BERTH_ADMIN_PASSWORD).toBe(value);
});

test('L89, H830: a later run replaces the removed settings of the earlier file', () => {
  const text = settingsText('# ours\nBERTH_MAX_STREAMS=5\n', { BERTH_PORT: '5003' });
  expect(settingsIn(text)).toEqual({ BERTH_LIMITS: '{"streams":5}', BERTH_PORT: '5003', ...OWN });
  expect(text).toMatch(/^# ours\n/);
});

test('L89: a later run keeps comments, other lines and what a person has changed, and the same settings again change nothing', () => {
  const hosts = ['BERTH_HOST=::1', 'BERTH_HOST=::'];
  const edited = ['# ours', 'BERTH_PORT=5002', 'BERTH_DATA_DIR="/srv/berth"', ...hosts];
  const text = settingsText(edited.join('\n'), { BERTH_PORT: '5003' });
  const expected = [edited[0], "BERTH_PORT='5003'", ...edited.slice(2), "BERTH_LOCAL_AGENT='off'", ''];
  expect(text).toBe(expected.join('\n'));
  expect(settingsIn(text)).toMatchObject({ BERTH_DATA_DIR: '/srv/berth', BERTH_HOST: '::' });
  const env = { BERTH_PORT: '5003', BERTH_HOST: '::' };
  const made = settingsText('', env);
  for (const again of [env, {}]) expect(settingsText(made, again)).toBe(made);
});

test.each([
  [{ BERTH_SHOP: "it's" }, /BERTH_SHOP has a single quote/],
  [{ BERTH_SHOP: 'a\nb' }, /BERTH_SHOP has .* a line break/],
  [{ BERTH_DATA_DIR: '/srv' }, /BERTH_DATA_DIR is \/srv, but the service can write to .* only. Unset it/],
  [{ BERTH_LOCAL_AGENT: 'on' }, /BERTH_LOCAL_AGENT is on, but an agent needs root. Unset it/],
])('L91: the settings %o are refused with the way out', (env, words) => {
  expect(() => settingsText('', env)).toThrow(words);
});
