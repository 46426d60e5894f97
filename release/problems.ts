/** Decides whether a checkout can be released. Pure. */

export interface Checkout {
  version: string;
  /** CHANGELOG.md. */
  changelog: string;
  /** Output of `git status --porcelain`. */
  status: string;
}

/** What prevents a release, each with the way out. A draft may have all of it. */
export function releaseProblems({ version, changelog, status }: Checkout): string[] {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## [${version}]`));
  const changed = status.split('\n').flatMap((line) => line.slice(3) || []);
  return [
    ...(heading === undefined
      ? [`CHANGELOG.md has no section "## [${version}]": write what administrators must do.`]
      : []),
    ...(heading !== undefined && !/ - \d{4}-\d{2}-\d{2}$/.test(heading)
      ? [`CHANGELOG.md: "${heading}" has no date: put that of the release after it, as in 2026-11-30.`]
      : []),
    ...(changed.length > 0
      ? [`The checkout differs from its commit in ${namesOf(changed)}: commit these files, or stash them.`]
      : []),
  ];
}

const SHOWN = 3;
const namesOf = (paths: readonly string[]): string =>
  [...paths.slice(0, SHOWN), ...(paths.length > SHOWN ? [`${paths.length - SHOWN} more`] : [])].join(', ');
