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

const withOptions = (options: object) => ({ ...NEEDED, BERTH_OIDC_OPTIONS: JSON.stringify(options) });

test('H543: a faulty table of groups is refused without its content', () => {
  const groupsOf = (groups: unknown) => signOnOf(readConfig(withOptions({ groups })))?.groups;
  const read = [{ group: 'staff', role: 'user', quota: 'default' }];
  expect(groupsOf([{ group: 'staff', role: 'user' }])).toEqual(read);
  for (const groups of ['staff=user', [], {}, [{ group: 'staff' }], [{ group: '', role: 'user' }]]) {
    expect(() => groupsOf(groups)).toThrow(/BERTH_OIDC_OPTIONS\.groups/);
    expect(() => groupsOf(groups)).not.toThrow(/staff/);
  }
});

test('H543: the hours of a session and the days of tokens have bounds', () => {
  for (const [name, value] of [
    ['sessionHours', 13],
    ['sessionHours', 0],
    ['tokenDays', 366],
    ['tokenDays', -1],
    ['scope', 'profile'],
    ['createUsers', 'on'],
  ] as const)
    expect(() => readConfig(withOptions({ [name]: value }))).toThrow(`BERTH_OIDC_OPTIONS.${name}: must`);
});

test('H543: an unknown field is refused with the one that was probably meant', () => {
  expect(() => readConfig(withOptions({ userNameClaim: 'email' }))).toThrow(
    'BERTH_OIDC_OPTIONS: "userNameClaim" is not a field; did you mean "usernameClaim"?',
  );
  expect(() => readConfig({ ...NEEDED, BERTH_OIDC_OPTIONS: 'name=x' })).toThrow(
    'BERTH_OIDC_OPTIONS: must be a JSON object',
  );
});
