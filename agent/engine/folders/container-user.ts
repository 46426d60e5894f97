/** Decides as which user a container runs. Pure. */
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { EngineError } from '../engine.ts';

/** `fs_uid`: a container with host folders runs as its owner's `fs_uid`. */
export type RunAs = 'image' | 'fs_uid';

/**
 * The user and group of a container, or undefined for those of its image. Throws an EngineError if the
 * description names another user than the host allows.
 */
export function containerUser(
  { user, ownerUid }: Pick<Assignment, 'user' | 'ownerUid'>,
  hasFolders: boolean,
  runAs: RunAs,
): string | undefined {
  if (runAs === 'image' || !hasFolders) return user ?? undefined;
  // The group of the same number: otherwise the image could choose root's group.
  const own = `${ownerUid}:${ownerUid}`;
  if (user === null || user === String(ownerUid) || user === own) return own;
  throw new EngineError(
    'permanent',
    `user ${user} not allowed with folders of this host: its agent runs such containers as ${own}, the fs_uid of their owner (leave user out, or set it to ${own})`,
  );
}
