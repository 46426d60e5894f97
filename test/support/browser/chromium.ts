/**
 * Finds the browser of the tests, or installs it. Prefers Chromium's headless shell, which takes two thirds
 * of the time of Chromium without a window.
 */
import { ensureProgram } from '../tools/debian-program.ts';

/** Path of the program. `say` reports long steps. */
export const ensureChromium = (say?: (line: string) => void): Promise<string> =>
  ensureProgram(
    'chromium-headless-shell',
    // Without fonts every letter is a box.
    { others: ['chromium', 'chromium-browser', 'google-chrome'], more: ['fonts-dejavu-core'] },
    say,
  );
