import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { isBundleOf, refusalOf, type UpdateTerms } from '../../../../agent/update/release-check.ts';
import { signRelease } from '../../../../release/sign-agent.ts';

const bundle = Buffer.from('// the agent');
const { privateKey } = generateKeyPairSync('ed25519');
const release = signRelease(bundle, '1.2.3', privateKey);

const terms: UpdateTerms = {
  isAllowed: true,
  releaseKey: release.key,
  program: '/opt/berth/berth-agent.mjs',
  version: '1.2.2',
};

test('P200: a newer release that is signed with the pinned key replaces the program', () => {
  expect(refusalOf(release, terms)).toEqual({ program: terms.program });
});

const another = signRelease(bundle, '1', generateKeyPairSync('ed25519').privateKey);
test.each([
  ['another key', { releaseKey: another.key }, 'not signed'],
  ['no pinned key', { releaseKey: undefined }, 'no release key was pinned'],
  ['updates that are switched off', { isAllowed: false }, 'BERTH_AGENT_WITHOUT has updates'],
  ['an agent from another place', { program: undefined }, 'not installed by install.sh'],
])('P200: an agent refuses a release with %s', (_, change, reason) => {
  expect(refusalOf(release, { ...terms, ...change }).refusal).toContain(reason);
});

test.each([
  ['the version', { version: '9.9.9' }],
  ['the checksum', { sha256: '0'.repeat(64) }],
])('P200: the signature holds for %s too', (_, change) => {
  expect(refusalOf({ ...release, ...change }, terms).refusal).toContain('not signed');
});

test('P201: an agent goes on to a newer version, and never back', () => {
  for (const version of ['1.2.3', '1.2.4', '1.10.0', '2.0.0', '1.2.3-rc.1', '1.2.4-rc.1']) {
    const { refusal } = refusalOf(release, { ...terms, version });
    expect(refusal).toBe(`it is not newer than ${version}, which runs here`);
  }
  for (const version of ['1.2.2', '1.1.9', '0.9.9'])
    expect(refusalOf(release, { ...terms, version })).toEqual({ program: terms.program });
});

test('P200: only the bytes that were signed are the bundle', () => {
  expect(isBundleOf(release, bundle)).toBe(true);
  expect(isBundleOf(release, Buffer.from('// another'))).toBe(false);
});
