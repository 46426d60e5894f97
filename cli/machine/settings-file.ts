/** The settings file of the control plane's service, as systemd reads it. Pure. */
import { rewriteSettings } from '../../shared/settings/rewrite.ts';
import { PLACES } from './server-unit.ts';

/** Settings that the service must have. */
const FIXED: Readonly<Record<string, { value: string; remedy: string }>> = {
  BERTH_DATA_DIR: {
    value: PLACES.data,
    remedy: `the service can write to ${PLACES.data} only. Unset it, and mount another disk there if you need one`,
  },
  BERTH_LOCAL_AGENT: {
    value: 'off',
    remedy: 'an agent needs root. Unset it, and install the agent with the command of berth host token',
  },
};

/** Settings of other programs. */
const OF_OTHERS =
  /^BERTH_(URL|TOKEN|ROOT|JOIN_TOKEN|BUNDLE_SHA256|ANY_CLOCK|DEBUG)$|^BERTH_AGENT_(?!RELEASE$)/;

/**
 * The text of the file: the settings of the environment, and the lines of the earlier file about anything
 * else, where removed settings become what took their places. Throws an error with the way out if the file
 * can't have a setting.
 */
export function settingsText(earlier: string, env: NodeJS.ProcessEnv): string {
  const given = Object.entries(env).filter(
    ([name, value]) => /^BERTH_[A-Z_0-9]+$/.test(name) && !OF_OTHERS.test(name) && value,
  );
  for (const [name, value] of given) {
    const { [name]: fixed } = FIXED;
    if (fixed && fixed.value !== value) throw new Error(`${name} is ${value}, but ${fixed.remedy}.`);
  }
  let lines = rewriteSettings(earlier)
    .text.split('\n')
    .filter((line) => line !== '');
  for (const [name, value = ''] of given) lines = withSetting(lines, name, value);
  for (const [name, { value }] of Object.entries(FIXED))
    if (!lines.some((line) => isOf(line, name))) lines = withSetting(lines, name, value);
  return `${lines.join('\n')}\n`;
}

/** In the place of the line that has it, else at the end. */
function withSetting(lines: readonly string[], name: string, value: string): string[] {
  const line = lineOf(name, value);
  const at = lines.findIndex((one) => isOf(one, name));
  if (at < 0) return [...lines, line];
  return lines.flatMap((one, index) => (index === at ? [line] : isOf(one, name) ? [] : [one]));
}

/** The settings of the file. The later one counts if a name occurs twice. A person may have edited it. */
export function settingsIn(text: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^\s*([A-Z_0-9]+)=(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined) settings[name] = value.replace(/^(['"])(.*)\1$/, '$2');
  }
  return settings;
}

const isOf = (line: string, name: string): boolean => line.trimStart().startsWith(`${name}=`);

/** Everything between single quotes is literal. */
function lineOf(name: string, value: string): string {
  if (/['\n]/.test(value))
    throw new Error(`${name} has a single quote or a line break, which ${PLACES.settings} can't have.`);
  return `${name}='${value}'`;
}
