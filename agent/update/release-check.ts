/** Decides whether an agent may update itself to a release (P200, P201). Pure. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { type AgentRelease, signedText } from '../../shared/protocol/release.ts';

/** What the administrator of the machine has decided, and what runs there. */
export interface UpdateTerms {
  isAllowed: boolean;
  /** The public half of the release key that was pinned at the installation. */
  releaseKey: string | undefined;
  /** Path of the bundle that runs; undefined if the agent runs from something else. */
  program: string | undefined;
  /** The version that runs. */
  version: string;
}

const NOT_INSTALLED =
  'the agent was not installed by install.sh: update the package or the image that it comes from';
const NO_KEY =
  'no release key was pinned when this agent was installed: run install.sh there, from a control plane whose agent is signed';
const OTHER_KEY = 'it is not signed with the release key that was pinned when this agent was installed';

/** Why the agent refuses the release, as a clause for people, or else the file that the release replaces. */
export function refusalOf(
  release: AgentRelease,
  { isAllowed, releaseKey, program, version }: UpdateTerms,
): { refusal: string; program?: undefined } | { refusal?: undefined; program: string } {
  if (!isAllowed) return { refusal: 'BERTH_AGENT_WITHOUT has updates on this host: run install.sh there' };
  if (program === undefined) return { refusal: NOT_INSTALLED };
  if (releaseKey === undefined) return { refusal: NO_KEY };
  if (!isSigned(release, releaseKey)) return { refusal: OTHER_KEY };
  if (compareVersions(release.version, version) <= 0)
    return { refusal: `it is not newer than ${version}, which runs here` };
  return { program };
}

/** True if these are the bytes that were signed. */
export const isBundleOf = ({ sha256 }: AgentRelease, bundle: Uint8Array): boolean =>
  createHash('sha256').update(bundle).digest('hex') === sha256;

function isSigned(release: AgentRelease, releaseKey: string): boolean {
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: releaseKey }, format: 'jwk' });
  return verify(null, Buffer.from(signedText(release)), key, Buffer.from(release.signature, 'base64url'));
}

/** Below 0 if `one` is older. Both begin with the form 1.2.3. What follows, as in 1.2.3-rc.1, is ignored. */
function compareVersions(one: string, other: string): number {
  const [ofOne, ofOther] = [one, other].map((text) =>
    text.split('.', 3).map((part) => Number.parseInt(part, 10)),
  );
  const differences = (ofOne ?? []).map((part, n) => part - (ofOther?.[n] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
