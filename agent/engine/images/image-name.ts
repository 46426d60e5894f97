/** Image names: one text for all spellings of a name. */

/**
 * The name as the engine lists it: `nginx` and `docker.io/library/nginx:latest` are both `nginx:latest`. A
 * tag before a digest has no effect and is left out.
 */
export function canonicalName(image: string): string {
  const [tagged = image, digest] = image.split('@');
  const familiar = tagged.replace(/^(index\.)?docker\.io\//, '').replace(/^library\/(?=[^/]+$)/, '');
  const colon = familiar.lastIndexOf(':');
  const hasTag = colon > familiar.lastIndexOf('/');
  if (digest !== undefined) return `${hasTag ? familiar.slice(0, colon) : familiar}@${digest}`;
  return hasTag ? familiar : `${familiar}:latest`;
}

/** The repository of a canonical name. */
export const repositoryOf = (name: string): string => {
  const [tagged = name, digest] = name.split('@');
  return digest === undefined ? tagged.slice(0, tagged.lastIndexOf(':')) : tagged;
};
