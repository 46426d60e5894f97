/** Says what Berth has refused, or why it can't be reached, and the way out. Pure. */
import { BerthError, type Problem } from '../../client/berth.ts';
import { mostLike } from '../../shared/settings/similar.ts';

const NOT_FOUND = 404;
const EXECUTION = /\/execution\/(?:delete\/|endpoints\/)?(\d+)(?:\/|$)/;
const ITEM = /\/(host|user|role|quota|token|secret|file|registry)\/(\d+)(?:\/|$)/;
/** More are not in an answer. */
const MAX_PROBLEMS = 100;
const LOOPBACK = /^https?:\/\/(?:localhost|127\.|\[::1\])/;

/** The sentence for an error in the middle of others. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { status, path } = error instanceof BerthError ? error : {};
  if (status !== NOT_FOUND || path === undefined) return error.message;
  const [, id] = EXECUTION.exec(path) ?? [];
  if (id !== undefined) return `There is no such execution: ${id}. berth ps lists those that you may see.`;
  const [, kind, item] = ITEM.exec(path) ?? [];
  return kind === undefined
    ? error.message
    : `There is no such ${kind}: ${item}. berth ${kind} ls lists them.`;
}

/** Each on a line of its own. */
export function linesOfRefusal(error: BerthError): string[] {
  const { problems, status, unreachable } = error;
  if (problems.length > 0)
    return [
      'The application description is not valid:',
      ...joined(problems).map(({ pointer, message }) => `  ${pointer || '/'}: ${message}`),
      ...(problems.length < MAX_PROBLEMS ? [] : ['  There may be more problems.']),
    ];
  if (status !== 0 || unreachable === undefined) return [sentenceOf(error)];
  const way = LOOPBACK.test(unreachable)
    ? 'Is it running? berth server starts a control plane on this machine.'
    : 'Is the address right, and is it running?';
  return [error.message, `${way} berth context ls lists those that you have logged in to.`];
}

/** A key that is not known, and one like it that is missing, are one problem. */
function joined(problems: readonly Problem[]): Problem[] {
  const missing = problems.filter(({ message }) => message.startsWith('is missing'));
  const meant = new Set<Problem>();
  const all = problems.map((problem) => {
    if (problem.message !== 'is not a known key') return problem;
    const [folder, key] = parts(problem);
    const beside = missing.filter((one) => parts(one)[0] === folder && !meant.has(one));
    const like = mostLike(
      key,
      beside.map((one) => parts(one)[1]),
    );
    const one = beside.find((each) => parts(each)[1] === like);
    if (one) meant.add(one);
    return one
      ? { ...problem, message: `${problem.message}: did you mean ${like}, which is missing?` }
      : problem;
  });
  return all.filter((_, at) => !meant.has(problems[at] as Problem));
}

function parts({ pointer }: Problem): [folder: string, key: string] {
  const at = pointer.lastIndexOf('/');
  return [pointer.slice(0, at), pointer.slice(at + 1)];
}
