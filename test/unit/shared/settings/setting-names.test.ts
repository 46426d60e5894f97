import { expect, test } from 'vitest';
import { ConfigError, readConfig as readAgentConfig } from '../../../../agent/config.ts';
import { readMachine } from '../../../../agent/host/machine.ts';
import { settingsSchema } from '../../../../agent/settings.ts';
import { readConfig, readNodeConfig } from '../../../../control-plane/config.ts';
import { nodeSettings } from '../../../../control-plane/settings.ts';
import { limitNames } from '../../../../shared/settings/limits.ts';
import { removedSettings } from '../../../../shared/settings/removed.ts';
import {
  agentSettings,
  controlPlaneSettings,
  removedIn,
  unknownIn,
  wordsOf,
} from '../../../../shared/settings/setting-names.ts';

const sorted = (names: Iterable<string>) => [...names].sort();

test('the names of the control plane are exactly those of its schema', () => {
  expect(sorted(controlPlaneSettings)).toEqual(sorted(Object.keys(nodeSettings.shape)));
});
test('the names of the agent are exactly those of its schema, which has DOCKER_HOST besides', () => {
  expect(sorted([...agentSettings, 'DOCKER_HOST'])).toEqual(sorted(Object.keys(settingsSchema.shape)));
});
test('both programs together have at most 60 settings: what few operators change is a limit', () => {
  expect(controlPlaneSettings.length + agentSettings.length).toBeLessThanOrEqual(60);
});

const all = Object.entries(removedSettings);
const names: readonly string[] = [...controlPlaneSettings, ...agentSettings];

test('H829: none of the removed settings is a setting still, and what took their places is one', () => {
  for (const [name, successor] of all) {
    expect(names).not.toContain(name);
    if ('reason' in successor) continue;
    expect(names).toContain(successor.setting);
    if (successor.setting === 'BERTH_LIMITS' && 'field' in successor)
      expect(limitNames).toContain(successor.field);
  }
});
test.each(all)('H829: %s stops the start, and the message names what took its place', (name, successor) => {
  const env = { [name]: 'x' };
  for (const read of [readConfig, readNodeConfig])
    expect(() => read(env)).toThrow(`Invalid settings. ${name} ${wordsOf(successor)}`);
  const agentConfig = (value: string) => readAgentConfig({ [name]: value }, readMachine());
  expect(() => agentConfig('x')).toThrow(ConfigError);
  expect(() => agentConfig('x')).toThrow(`settings are invalid: ${name} ${wordsOf(successor)}; `);
  for (const read of [readNodeConfig, () => agentConfig('')])
    expect(() => read({ [name]: '' })).not.toThrow();
});
test('H829: the message names all removed settings, then the command that rewrites a file, then other problems', () => {
  expect(() =>
    readConfig({ BERTH_MAX_STREAMS: '5', BERTH_HOLD_AFTER: '60', BERTH_HOST_LOSS: 'never' }),
  ).toThrow(
    /^Invalid settings. BERTH_MAX_STREAMS is now "streams" in BERTH_LIMITS; BERTH_HOLD_AFTER is now "backfillReserveAfterS" in BERTH_LIMITS; .*`berth agent settings FILE`.*; BERTH_HOST_LOSS: must be/,
  );
  expect(removedIn({ BERTH_PORT: '5001', PATH: '/bin' })).toEqual([]);
});

test('H831: a misspelt setting of any program is found, with the name that was probably meant; settings, removed ones, empty ones, and variables of other programs are not unknown', () => {
  const unknown = { BERTH_PROT: '5001', BERTH_AGENT_LABLES: 'gpu', BERTH_SERVICE_HOST: '10.0.0.1' };
  const known = ['BERTH_PORT', 'BERTH_URL', 'BERTH_TOKEN', 'BERTH_MAX_STREAMS', 'BERTH_TEST_HOSTS', 'PATH'];
  const others = Object.fromEntries(known.map((name) => [name, 'x']));
  expect(unknownIn({ ...unknown, ...others, BERTH_NONSENSE: '' })).toEqual([
    { name: 'BERTH_PROT', like: 'BERTH_PORT' },
    { name: 'BERTH_AGENT_LABLES', like: 'BERTH_AGENT_LABELS' },
    { name: 'BERTH_SERVICE_HOST', like: null },
  ]);
});
