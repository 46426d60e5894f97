/** Parts of a sync: divides the assignments of a host into messages of limited size (P138). */
import type { Assignment } from '../../../shared/protocol/assignment.ts';

/** Assignments in one part; keeps usual frames far below the message limits of every runtime. */
const MAX_PART = 100;
/** Text in one part, in UTF-16 units. A single assignment may have more, and then has its own part. */
const MAX_PART_LENGTH = 2 ** 20;

/** Some of the assignments of a sync; `more`: another part follows. */
export interface SyncPart {
  assignments: Assignment[];
  more: boolean;
}

/**
 * At least one part, which is empty for a host without assignments. Takes the assignments as they are needed:
 * all of them together may be large.
 */
export function* syncParts(assignments: Iterable<Assignment>): Generator<SyncPart> {
  let part: Assignment[] = [];
  let length = 0;
  for (const assignment of assignments) {
    const added = textLength(assignment);
    if (part.length === MAX_PART || (part.length > 0 && length + added > MAX_PART_LENGTH)) {
      yield { assignments: part, more: true };
      part = [];
      length = 0;
    }
    part.push(assignment);
    length += added;
  }
  yield { assignments: part, more: false };
}

/** Without the names, which are short. */
function textLength({ image, command, environment, workDir, network, volumes }: Assignment): number {
  let length = image.length + (workDir?.length ?? 0) + (network?.length ?? 0);
  for (const word of command ?? []) length += word.length;
  for (const [name, value] of environment) length += name.length + value.length;
  for (const { name, path } of volumes) length += name.length + path.length;
  return length;
}
