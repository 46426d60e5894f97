import { expect, test } from 'vitest';
import { startFailure } from '../../../../../agent/engine/streams/exec.ts';

const BEGINNING = 'OCI runtime exec failed: exec failed: unable to start container process: ';

const MISSING = 'x: there is no such program in the container';

test.each([
  ['exec: "x": executable file not found in $PATH: unknown', 127, MISSING],
  ['exec: "x": stat x: no such file or directory: unknown', 127, MISSING],
  ['exec: "x": permission denied: unknown', 126, 'x: this may not be run as a program'],
  [
    'chdir to cwd ("/gone") set in config.json failed: no such file or directory: unknown\r\n',
    126,
    'x: cannot be started: exec failed: unable to start container process: chdir to cwd ("/gone") set in ' +
      'config.json failed: no such file or directory: unknown',
  ],
])('L232: %j of the runtime means %i', (words, exitCode, text) => {
  expect(startFailure('x', BEGINNING + words)).toEqual({ exitCode, text });
});
