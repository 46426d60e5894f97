/**
 * Finds the browser of the tests: an installed one, else the package of Debian, which needs root. Prefers
 * Chromium's headless shell, which takes two thirds of the time of Chromium without a window.
 */
import { findProgram } from '../../../agent/system-programs.ts';
import { foundOrInstalled } from '../tools/debian-program.ts';

/** Path of the program. `say` reports long steps. */
export function ensureChromium(say: (line: string) => void = () => {}): Promise<string> {
  // Without fonts every letter is a box.
  const packages = ['chromium-headless-shell', 'fonts-dejavu-core'];
  const what = { tests: 'the tests of the web interface', program: 'Chromium', packages };
  return foundOrInstalled(findChromium, what, say);
}

async function findChromium(): Promise<string | undefined> {
  for (const name of ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']) {
    const path = await findProgram(name);
    if (path) return path;
  }
  return undefined;
}
