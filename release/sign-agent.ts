/**
 * `npm run sign-agent -- KEY FOLDER`: makes the agent in FOLDER, and signs it with the release key in the
 * file KEY (an Ed25519 key as PEM). A control plane serves it with BERTH_AGENT_RELEASE=FOLDER.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureAgentBundle } from '../control-plane/local/assets/agent-bundle.ts';
import { VERSION } from '../control-plane/version.ts';
import { AGENT_BUNDLE, AGENT_RELEASE, type SignedRelease, signedText } from '../shared/protocol/release.ts';

/** Signs the bundle as this version. Throws if the key is not an Ed25519 key. */
export function signRelease(bundle: Uint8Array, version: string, key: KeyObject): SignedRelease {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error('The release key must be an Ed25519 key: openssl genpkey -algorithm ed25519');
  const sha256 = createHash('sha256').update(bundle).digest('hex');
  const signature = sign(null, Buffer.from(signedText({ version, sha256 })), key).toString('base64url');
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return { version, sha256, signature, key: x };
}

/** Makes the agent in `folder`, and signs it with the key in this file. */
export async function signAgent(keyFile: string, folder: string): Promise<SignedRelease> {
  const key = createPrivateKey(await readFile(keyFile));
  await ensureAgentBundle(folder);
  const release = signRelease(await readFile(join(folder, AGENT_BUNDLE)), VERSION, key);
  await writeFile(join(folder, AGENT_RELEASE), `${JSON.stringify(release, null, 2)}\n`);
  return release;
}

if (import.meta.main) {
  const [keyFile, folder] = process.argv.slice(2).map((path) => resolve(path));
  if (!keyFile || !folder) throw new Error('usage: npm run sign-agent -- KEY FOLDER');
  const { version, key } = await signAgent(keyFile, folder);
  process.stdout.write(`${folder}: agent ${version}, signed with the key ${key}\n`);
}
