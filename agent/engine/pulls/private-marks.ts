/**
 * Marks of private images: tags of the engine's images under a name that no registry can have. A mark states
 * that an image came with credentials, and whose pull was allowed (P235). The engine keeps them as long as
 * the image, whatever becomes of the agent's files. Pure.
 */
import { createHash } from 'node:crypto';

/** Names below `.invalid` never resolve, so that no pull can make such a tag. */
const DOMAIN = 'private.berth.invalid';

/** In place of a fingerprint: nobody's pull is known to have been allowed. */
export const NOBODY = 'nobody';

export interface Mark {
  /** The whole reference. */
  name: string;
  /** Digest of the deployment's name. */
  deployment: string;
  /** Digest of the registry, so that the mark reveals no name. */
  registry: string;
  /** Fingerprint of the credentials that the registry accepted, or NOBODY. */
  credentials: string;
}

export interface Grant {
  imageId: string;
  deployment: string;
  registry: string;
  credentials: string;
}

export function markOf({ imageId, deployment, registry, credentials }: Grant): Mark {
  const digests = { deployment: digestOf(deployment), registry: digestOf(registry) };
  // A tag is of one image only, so that each image has a repository of its own.
  const repository = [DOMAIN, digestOf(imageId), digests.deployment, digests.registry].join('/');
  return { ...digests, credentials, name: `${repository}:${credentials}` };
}

export const isMark = (name: string): boolean => name.startsWith(`${DOMAIN}/`);

/** The marks among the tags of one image. */
export function marksIn(tags: readonly string[]): Mark[] {
  return tags.filter(isMark).map((name) => {
    const [repository = '', credentials = ''] = name.split(':');
    const [, , deployment = '', registry = ''] = repository.split('/');
    return { name, deployment, registry, credentials };
  });
}

/** Registries that are known to serve only what their repositories hold. */
const HONEST: readonly string[] = [
  'docker.io',
  'ghcr.io',
  'quay.io',
  'gcr.io',
  'registry.k8s.io',
  'mcr.microsoft.com',
  'public.ecr.aws',
];

/**
 * Whether an answer of `registry` shows that it has the image which others have pulled from these registries.
 * An engine downloads nothing that it has: any other registry can give out a description of that image alone.
 */
export const showsPossession = (registry: string, others: readonly string[]): boolean =>
  HONEST.includes(registry) || others.includes(digestOf(registry));

/** More are not kept on one image: who loses theirs pulls again. */
export const MAX_MARKS = 64;

/** The number of the credentials, by which the oldest go first. */
const rowOf = ({ credentials }: Mark): number => Number(credentials.split('.')[0]) || 0;

/**
 * The marks to remove when one is added: earlier ones of the same credentials, and the oldest beyond the
 * bound.
 */
export function outdatedBy(mark: Mark, marks: readonly Mark[]): Mark[] {
  const others = marks.filter(({ name }) => name !== mark.name);
  const earlier = others.filter(
    (one) => one.deployment === mark.deployment && (rowOf(one) === rowOf(mark) || one.credentials === NOBODY),
  );
  const kept = others.filter((one) => !earlier.includes(one));
  const oldest = kept.sort((a, b) => rowOf(a) - rowOf(b));
  return [...earlier, ...oldest.slice(0, Math.max(0, kept.length - MAX_MARKS + 1))];
}

/** Short enough for a name, and long enough that nobody finds another text with it. */
export const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 40);
