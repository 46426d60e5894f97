/** How long a login waits for servers of a directory that do not answer. */
import { expect, onTestFinished, test } from 'vitest';
import { readNodeConfig } from '../../../control-plane/config.ts';
import { openDirectory } from '../../../control-plane/directory/ldap-directory.ts';
import { type LdapConfig, ldapConfigOf } from '../../../control-plane/directory/ldap-settings.ts';
import { ScriptedDirectory } from '../../support/directory/scripted-directory.ts';

test('H648: if no server answers, the login is refused within the time of one', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => ScriptedDirectory.start(() => {})));
  const settings = {
    BERTH_LDAP_URL: servers.map(({ url }) => url).join(' '),
    BERTH_LDAP_USERS: 'uid={name},dc=example',
    BERTH_LDAP_OPTIONS: '{"tls": "off"}',
    BERTH_LIMITS: JSON.stringify({ ldapTimeoutS: 0.6 }),
  };
  const events: string[] = [];
  const config = ldapConfigOf(readNodeConfig(settings)) as LdapConfig;
  const directory = await openDirectory(config, (event) => void events.push(event));
  onTestFinished(() => {
    directory.close();
    for (const server of servers) server.stop();
  });
  const beganMs = performance.now();
  const code = await directory.verify('alice', 'secret words').catch((error) => error.code);
  expect([code, servers.map(({ connections }) => connections)]).toEqual(['unavailable', [1, 1, 1]]);
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  expect(events.at(-1)).toBe('directory.failed');
});
