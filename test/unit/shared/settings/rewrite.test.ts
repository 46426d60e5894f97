import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { readConfig as readAgentConfig } from '../../../../agent/config.ts';
import { readMachine } from '../../../../agent/host/machine.ts';
import { rewriteSettingsFile } from '../../../../agent/host/settings-file.ts';
import { readNodeConfig } from '../../../../control-plane/config.ts';
import { removedSettings } from '../../../../shared/settings/removed.ts';
import { rewriteSettings } from '../../../../shared/settings/rewrite.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const rewritten = (...lines: string[]) => rewriteSettings(lines.join('\n')).text.split('\n');

test('H830: removed settings become what took their places, where the first of them was', () => {
  expect(
    rewritten(
      '# Berth of the site',
      'BERTH_PORT=5002',
      '',
      '# Many people watch logs.',
      'BERTH_MAX_STREAMS=2000',
      "BERTH_MAX_BODY_MEMORY_MIB='128'",
      'BERTH_HOST=0.0.0.0',
      '',
    ),
  ).toEqual([
    '# Berth of the site',
    'BERTH_PORT=5002',
    '',
    '# Many people watch logs.',
    `BERTH_LIMITS='{"streams":2000,"bodyMemoryBytes":"128MiB"}'`,
    'BERTH_HOST=0.0.0.0',
    '',
  ]);
});
test('H830: a setting that the file has already is extended where it is, and its own fields count', () => {
  expect(
    rewritten('BERTH_MAX_STREAMS=2000', 'BERTH_MAX_WAITING=7', `BERTH_LIMITS='{"streams": 5}'`, 'OTHER=1'),
  ).toEqual([`BERTH_LIMITS='{"streams":5,"waiting":7}'`, 'OTHER=1']);
});
test('H830: tables over several lines, quotes, and `export` are carried over', () => {
  expect(
    rewritten(
      `export BERTH_OIDC_GROUPS='[`,
      `  {"group": "staff", "role": "user"}`,
      `]'`,
      `BERTH_OIDC_NAME="The \\"Works\\", Ann's"`,
      `export BERTH_LDAP_USER_DN="uid={name},dc=ex ample"`,
    ),
  ).toEqual([
    `export BERTH_OIDC_OPTIONS='{"groups":[{"group":"staff","role":"user"}],"name":"The \\"Works\\", Ann\\u0027s"}'`,
    `export BERTH_LDAP_USERS='uid={name},dc=ex ample'`,
  ]);
});
test('H830: switches become words of a list, unless they have the value that was the default', () => {
  expect(
    rewritten('BERTH_AGENT_FIREWALL=off', 'BERTH_AGENT_OVERLAY=on', 'BERTH_AGENT_ETC_FILES=writable', 'A=1'),
  ).toEqual(['BERTH_AGENT_WITHOUT=firewall,read-only-etc', 'A=1']);
});
test('H830: the token of the metrics becomes the setting that said that there is one', () => {
  expect(rewritten('BERTH_METRICS=token', 'BERTH_METRICS_TOKEN=0123456789abcdef')).toEqual([
    'BERTH_METRICS=0123456789abcdef',
  ]);
});
test('H830: two settings with one successor are refused where both are set', () => {
  expect(() => rewriteSettings('BERTH_LDAP_USER_DN=uid={name}\nBERTH_LDAP_SEARCH_BASE=dc=a')).toThrow(
    'The file has both BERTH_LDAP_SEARCH_BASE and BERTH_LDAP_USERS: remove one of them.',
  );
});
test('H830: if a name occurs twice, the later line counts', () => {
  expect(rewritten('BERTH_AGENT_MIN_DISK=2GiB', 'A=1', 'BERTH_AGENT_MIN_DISK=0')).toEqual([
    'A=1',
    `BERTH_LIMITS='{"minDiskBytes":"0"}'`,
  ]);
});
test('H830: comments, other lines, and their ends stay as they are', () => {
  const lines = ['#BERTH_MAX_STREAMS=5', '  export FOO="a b"  ', 'nonsense', "BERTH_SHOP='/srv/it is'", ''];
  expect(rewritten(...lines)).toEqual(lines);
  expect(rewriteSettings(lines.join('\n')).changes).toEqual([]);
});
test('H830: a setting without a successor becomes a comment, and an empty one goes', () => {
  expect(rewritten('BERTH_EXECUTION_ENDPOINTS=off', 'BERTH_MAX_STREAMS=', 'BERTH_PORT=1')).toEqual([
    '# BERTH_EXECUTION_ENDPOINTS=off',
    'BERTH_PORT=1',
  ]);
});
test.each([
  ['BERTH_MAX_STREAMS=many', 'BERTH_MAX_STREAMS has a value that cannot be carried over'],
  ['BERTH_MAX_STREAMS=5\nBERTH_LIMITS=/etc/limits.json', 'put "streams" of BERTH_MAX_STREAMS into it'],
])('H830: %j is refused with what to do', (text, words) => {
  expect(() => rewriteSettings(text)).toThrow(words);
});
test.each(Object.keys(removedSettings))('H830: with %s it can be read afterwards', (name) => {
  const text = `${name}=${VALUES[name] ?? '20'}\n`;
  const { text: first, changes } = rewriteSettings(text);
  expect(changes).toHaveLength(1);
  const env = parseEnv(first);
  expect(() => readNodeConfig(env)).not.toThrow();
  expect(() => readAgentConfig(env, readMachine())).not.toThrow();
  expect(rewriteSettings(first)).toEqual({ text: first, changes: [] });
});

/** Values of settings that are not numbers. */
const VALUES: Record<string, string> = {
  BERTH_DEFAULT_MEMORY: '1GiB',
  BERTH_AUDIT_COMMANDS: 'on',
  BERTH_MAX_AUDIT: '5000',
  BERTH_AGENT_LOG_MAX: '2GiB',
  BERTH_AGENT_COPY_MAX: '2GiB',
  BERTH_METRICS_TOKEN: '0123456789abcdef',
  BERTH_AGENT_ETC_FILES: 'writable',
  BERTH_OIDC_SCOPE: '"openid email"',
  BERTH_OIDC_CREATE_USERS: 'on',
  BERTH_OIDC_GROUPS: `'[{"group": "staff", "role": "user"}]'`,
  BERTH_OIDC_LOGOUT_HINT: 'on',
  BERTH_OIDC_SESSION_HOURS: '2',
  BERTH_LDAP_SEARCH_FILTER: '(uid={name})',
  BERTH_LDAP_TLS: 'insecure',
  BERTH_LDAP_GROUPS: `'[{"group": "cn=staff,dc=example", "role": "user"}]'`,
  BERTH_LDAP_GROUP_FILTER: '(member={dn})',
};

test('H830: the command keeps the earlier file and the mode, follows a link, and does nothing when run twice', async () => {
  const at = await testFolder();
  writeFileSync(join(at, 'real.env'), 'BERTH_MAX_STREAMS=5\n', { mode: 0o600 });
  symlinkSync('real.env', join(at, 'link.env'));
  const file = join(at, 'real.env');
  expect(rewriteSettingsFile(join(at, 'link.env'))).toBe(
    `BERTH_MAX_STREAMS is now "streams" in BERTH_LIMITS.\n${file} was rewritten; the earlier one is ${file}.before.\n`,
  );
  expect(readFileSync(file, 'utf8')).toBe(`BERTH_LIMITS='{"streams":5}'\n`);
  expect(readFileSync(`${file}.before`, 'utf8')).toBe('BERTH_MAX_STREAMS=5\n');
  for (const name of [file, `${file}.before`]) expect(statSync(name).mode & 0o777).toBe(0o600);
  expect(rewriteSettingsFile(file)).toContain('Nothing was changed.');
  expect(readdirSync(at).sort()).toEqual(['link.env', 'real.env', 'real.env.before']);
});
test('H830: a value that cannot be carried over leaves the file and its folder as they are', async () => {
  const at = await testFolder();
  const file = join(at, '.env');
  writeFileSync(file, 'BERTH_MAX_STREAMS=many\n');
  expect(() => rewriteSettingsFile(file)).toThrow('correct it');
  expect([readdirSync(at), readFileSync(file, 'utf8')]).toEqual([['.env'], 'BERTH_MAX_STREAMS=many\n']);
});
