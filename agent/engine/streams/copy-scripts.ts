/**
 * What copies run in a container, as its own user: the shell and the tar of the image. The kernel therefore
 * applies the rights, limits and mounts of the service, whatever changes meanwhile (P269).
 */
import { randomBytes } from 'node:crypto';

const COMMON = `
unset CDPATH
export LC_ALL=C
fail() { echo "$1" >&2; exit 120; }
go() { cd -P "$1" 2>/dev/null || fail "$1: no such folder, or no permission"; }
cross() { fail "$1 is a mount, and copies never cross one of the host; use berth exec, or copy the folders beside it"; }
check() {
  place=$1 near= kind=+; shift
  for mount; do
    point=\${mount#?}
    case "$place/" in "$point"/*) if [ \${#point} -ge \${#near} ]; then near=$point kind=$mount; fi ;; esac
  done
  case $kind in -*) cross "$near" ;; esac
}
command -v tar >/dev/null || fail 'the image has no program tar, which copies require'
`;

/**
 * Follows the links of the path itself, and then goes by the folder that it is in: a link that is exchanged
 * later leads nowhere.
 */
const OUT = `${COMMON}
dir=$1 base=$2; shift 2
go "$dir"
links=0
while :; do
  case $base in .|..) go "./$base"; base= ;; esac
  [ -n "$base" ] && [ -L "./$base" ] || break
  links=$((links + 1))
  [ $links -le 40 ] || fail "$base: too many links"
  link=$(readlink "./$base") || fail "$base: an unreadable link"
  base=\${link##*/}
  case $link in /*) go "\${link%/*}/" ;; */*) go "./\${link%/*}" ;; esac
done
[ -z "$base" ] || [ -e "./$base" ] || fail "\${PWD%/}/$base: no such file or folder"
[ -d "./$base" ] || [ -f "./$base" ] || fail "\${PWD%/}/$base: no file and no folder"
place=$(pwd -P); place=\${place%/}
[ -z "$base" ] || place=$place/$base
check "$place" "$@"
for mount; do
  case "$mount/" in "-$place"/*) cross "\${mount#-}" ;; esac
done
exec tar -c -f - "./$base"
`;

/**
 * Unpacks into a folder with a name of its own, and renames what is there once the last entry, "complete", is
 * in it. A copy that breaks off has none.
 */
const IN = `${COMMON}
whole=$1 dir=$2 base=$3 name=$4 part=$5; shift 5
if [ -z "$base" ] || [ -d "$whole" ]; then dir=$whole base=$name; fi
go "$dir"
at=$(pwd -P); at=\${at%/}
check "$at/$base" "$@"
[ ! -d "./$base" ] || fail "$at/$base is a folder that exists; remove it first, or copy to another name"
trap 'rm -rf "./$part"' EXIT
trap 'exit 121' HUP INT TERM
mkdir -m 700 "./$part" || exit 122
umask 022
tar -x -o -p -f - -C "./$part" || exit 123
[ -f "./$part/complete" ] || fail 'the copy broke off'
[ ! -d "./$base" ] || fail "$at/$base is a folder that exists by now"
mv -f "./$part/x" "./$base"
`;

const words = (script: string, ...values: string[]): string[] => ['sh', '-c', script, 'berth-cp', ...values];

/** Writes a tar archive of the file or folder. `mounts`: marked as in mount-points.ts. */
export const outWords = (path: string, mounts: readonly string[]): string[] =>
  words(OUT, ...split(path), ...mounts);

/** Reads a tar archive of `x` and `complete`. In a folder that exists, `x` gets the name. */
export const inWords = (path: string, name: string, mounts: readonly string[]): string[] =>
  words(IN, path, ...split(path), name, `.berth-cp-${randomBytes(8).toString('hex')}`, ...mounts);

/** The folder and the name in it; no name if the path can only be a folder. */
function split(path: string): [string, string] {
  const base = baseOf(path);
  return base === '' ? [path, ''] : [path.slice(0, path.length - base.length), base];
}

/** The last name of an absolute path; empty for `/`, for `/a/` and for `/a/..`. */
export function baseOf(path: string): string {
  const base = path.slice(path.lastIndexOf('/') + 1);
  return base === '.' || base === '..' ? '' : base;
}
