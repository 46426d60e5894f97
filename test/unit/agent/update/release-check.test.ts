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

const another = signRelease(bundle, '1', generateKeyPairSync('ed25519').privateKey);
test.each<[fault: string, change: Partial<UpdateTerms>, reason: string, ofRelease?: object]>([
  ['of another key', { releaseKey: another.key }, 'not signed'],
  ['without a pinned key', { releaseKey: undefined }, 'no release key was pinned'],
  ['with updates switched off', { isAllowed: false }, 'BERTH_AGENT_WITHOUT has updates'],
  ['if it is from another place itself', { program: undefined }, 'not installed by install.sh'],
  ['of another version than was signed', {}, 'not signed', { version: '9.9.9' }],
  ['of another checksum than was signed', {}, 'not signed', { sha256: '0'.repeat(64) }],
])('P200: an agent refuses a release %s', (_, change, reason, ofRelease = {}) => {
  expect(refusalOf({ ...release, ...ofRelease }, { ...terms, ...change }).refusal).toContain(reason);
});

test('P200, P201: a newer release that is signed with the pinned key replaces the program, and never an older one', () => {
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
