/**
 * The grammar of image references that engines and registries share (the reference package of CNCF
 * Distribution): `registry.example.org:5000/team/name:tag@digest`, of which only a name is required.
 */

const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const REGISTRY = `(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
const DIGEST = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
/** The limit of a name with its registry. It also bounds the work of the expression. */
const IS_SHORT = '[^@]{1,255}(?::[^/@]{1,128})?(?:@|$)';
/** Engines take 64 hexadecimal digits for the id of an image. */
const IS_ID = '[a-f0-9]{64}(?:[:@]|$)';

export const IMAGE_REFERENCE = new RegExp(
  `^(?=${IS_SHORT})(?!${IS_ID})(?:${REGISTRY}/)?${PART}(?:/${PART})*(?::${TAG})?(?:@(?:${DIGEST}))?$`,
);

export const IMAGE_REFERENCE_PROBLEM =
  'must be an image name such as busybox:1.36 or registry.example.org:5000/team/app, in lower case and without a scheme';
