/** The command that rewrites a file of settings. */
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rewriteSettings } from '../../shared/settings/rewrite.ts';

/**
 * Replaces the settings in the file that Berth no longer has, and keeps the earlier file as `FILE.before`.
 * Returns what to print. A second run changes nothing.
 */
export function rewriteSettingsFile(path: string): string {
  // Not the link to it, of which the file would take the place.
  const file = realpathSync(path);
  const before = readFileSync(file, 'utf8');
  const { text, changes } = rewriteSettings(before);
  if (changes.length === 0) return `${file} has no setting that was removed. Nothing was changed.\n`;
  const backup = freeName(`${file}.before`);
  // Neither is written through what somebody has put there since.
  copyFileSync(file, backup, constants.COPYFILE_EXCL);
  const { mode, uid, gid } = statSync(file);
  const draft = freeName(`${file}.new`);
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  // Only root may give a file away.
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
  chmodSync(draft, mode);
  renameSync(draft, file);
  return [...changes, `${file} was rewritten; the earlier one is ${backup}.`, ''].join('\n');
}

/** The path, with a number after it if there is such a file already. */
function freeName(path: string, number = 1): string {
  const name = number === 1 ? path : `${path}.${number}`;
  return existsSync(name) ? freeName(path, number + 1) : name;
}
