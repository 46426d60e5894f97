/**
 * Recognises that the runtime could not start a command, and reports it in words for people. The runtime
 * reports it as output of the command, with an exit code of the engine.
 */
import type { Piece } from './target.ts';

const BEGINNING = 'OCI runtime exec failed: ';
const MAX_WORDS = 4_096;
const STDERR = 2;
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

export interface StartFailure {
  text: string;
  /** As shells have it. */
  exitCode: number;
}

/**
 * The output, with the words of the runtime replaced by those for people, and a call of `failed`. `hasRun`
 * decides whether they are the runtime's: a command may write the same.
 */
export async function* withStartFailure(
  output: AsyncIterable<Piece>,
  program: string,
  { hasRun, failed }: { hasRun: () => Promise<boolean>; failed: (failure: StartFailure) => void },
): AsyncGenerator<Piece> {
  let isFirst = true;
  let words: string | undefined;
  let isTerminal = false;
  for await (const piece of output) {
    const text = isFirst || words !== undefined ? Buffer.from(piece.bytes).toString() : '';
    if (isFirst && text.startsWith(BEGINNING) && !(await hasRun())) {
      words = '';
      isTerminal = piece.channel === undefined;
    }
    isFirst = false;
    if (words === undefined) yield piece;
    else words = (words + text).slice(0, MAX_WORDS);
  }
  if (words === undefined) return;
  const failure = startFailure(program, words);
  failed(failure);
  const bytes = Buffer.from(`${failure.text}${isTerminal ? '\r\n' : '\n'}`);
  yield isTerminal ? { bytes } : { bytes, channel: STDERR };
}

/** What the words of the runtime mean. */
export function startFailure(program: string, words: string): StartFailure {
  const isOfFolder = /\bcwd\b|chdir/.test(words);
  if (!isOfFolder && /executable file not found|no such file or directory/.test(words))
    return { text: `${program}: there is no such program in the container`, exitCode: NOT_FOUND };
  if (!isOfFolder && /permission denied/.test(words))
    return { text: `${program}: this may not be run as a program`, exitCode: NOT_EXECUTABLE };
  const reason = words.slice(BEGINNING.length).replace(/\s+/g, ' ').trim();
  return { text: `${program}: cannot be started: ${reason}`, exitCode: NOT_EXECUTABLE };
}
