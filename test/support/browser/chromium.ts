/**
 * Finds the browser of the tests: an installed one, else the package of Debian, which needs root. Prefers
 * Chromium's headless shell, which takes two thirds of the time of Chromium without a window.
 */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

/** Path of the program. `say` reports long steps. */
export async function ensureChromium(say: (line: string) => void = () => {}): Promise<string> {
  const found = await findChromium();
  if (found) return found;
  if (!isRoot() || !(await hasApt()))
    throw new Error(
      'the tests of the web interface need Chromium: install it (Debian: apt-get install chromium-headless-shell)',
    );
  say('Installing Chromium, which takes a minute or two');
  // Without fonts every letter is a box.
  for (const name of ['chromium-headless-shell', 'fonts-dejavu-core']) await installPackage(name);
  const installed = await findChromium();
  if (!installed) throw new Error('Chromium was installed, and its program is not on the PATH');
  return installed;
}

async function findChromium(): Promise<string | undefined> {
  for (const name of ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']) {
    const path = await findProgram(name);
    if (path) return path;
  }
  return undefined;
}
