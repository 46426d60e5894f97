import { expect, test } from 'vitest';
import { readConfig, readNodeConfig } from '../../../control-plane/config.ts';
import { signOnOf } from '../../../control-plane/operations/sign-on/settings.ts';

const NEEDED = { BERTH_OIDC_ISSUER: 'https://id.example.org/realm', BERTH_OIDC_CLIENT_ID: 'berth' };

test('H543: sign-on needs an issuer and a client, and has defaults for the rest', () => {
  expect(signOnOf(readConfig({}))).toBeUndefined();
  expect(signOnOf(readConfig(NEEDED))).toEqual({
    ...{ issuer: 'https://id.example.org/realm', clientId: 'berth', clientSecret: undefined },
    logoutHint: false,
    ...{ name: 'id.example.org', scope: 'openid profile email', createsUsers: false },
    ...{ usernameClaim: 'preferred_username', groupsClaim: 'groups', groups: undefined },
    ...{ sessionMs: 12 * 3_600_000, tokensMs: 7 * 86_400_000 },
  });
  for (const read of [readConfig, readNodeConfig])
    for (const [name, value] of Object.entries(NEEDED))
      expect(() => read({ [name]: value })).toThrow('set both for sign-on');
});

test('H543: an issuer is the https URL of a provider, and plain http works on this machine only', () => {
  const names = ['http://id.example.org', 'id.example.org', 'file:///x'];
  for (const issuer of [...names, 'https://id.example.org/?a=b', 'https://u@id.example.org']) {
    const read = () => readConfig({ ...NEEDED, BERTH_OIDC_ISSUER: issuer });
    expect(read, issuer).toThrow('BERTH_OIDC_ISSUER: must be the https URL of a provider');
  }
  for (const issuer of ['http://127.0.0.1:8080', 'http://localhost/realm', 'http://[::1]:1'])
    expect(signOnOf(readConfig({ ...NEEDED, BERTH_OIDC_ISSUER: issuer }))?.issuer).toBe(issuer);
});

test('H543: the table of groups is JSON, and a faulty one is refused without its content', () => {
  const groupsOf = (text: string) => signOnOf(readConfig({ ...NEEDED, BERTH_OIDC_GROUPS: text }))?.groups;
  const read = [{ group: 'staff', role: 'user', quota: 'default' }];
  expect(groupsOf('[{"group":"staff","role":"user"}]')).toEqual(read);
  for (const text of ['staff=user', '[]', '{}', '[{"group":"staff"}]', '[{"group":"","role":"user"}]'])
    expect(() => groupsOf(text)).toThrow(/BERTH_OIDC_GROUPS/);
});

test('H543: the hours of a session and the days of tokens have bounds', () => {
  for (const [name, text] of [
    ['BERTH_OIDC_SESSION_HOURS', '13'],
    ['BERTH_OIDC_SESSION_HOURS', '0'],
    ['BERTH_OIDC_TOKEN_DAYS', '366'],
    ['BERTH_OIDC_TOKEN_DAYS', '-1'],
    ['BERTH_OIDC_SCOPE', 'profile'],
  ])
    expect(() => readConfig({ ...NEEDED, [name ?? '']: text })).toThrow(`${name}: must`);
});
