/** The program `berth`: its commands, and how it ends. */
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { BerthError } from '../client/berth.ts';
import { VERSION } from '../client/version.ts';
import { addAccountCommands } from './accounts/accounts.ts';
import { addAuditCommand } from './accounts/audit.ts';
import { addCheckCommands } from './commands/checks.ts';
import { addCompletionCommands } from './commands/completion.ts';
import { addEventCommand } from './commands/events.ts';
import { addExecutionCommands } from './commands/executions.ts';
import { addHostCommands } from './commands/hosts.ts';
import { addLogCommand } from './commands/logs.ts';
import { addMachineCommands } from './commands/machine.ts';
import { addOpenCommand } from './commands/open.ts';
import { addPersonalTokenCommands } from './commands/personal-tokens.ts';
import { addRunCommands } from './commands/run.ts';
import { addRegistryCommands, addSecretCommands } from './commands/secrets.ts';
import { addSessionCommands } from './commands/sessions.ts';
import { addShopCommands } from './commands/shop.ts';
import { addTopCommand, addUsageCommand } from './commands/top.ts';
import { addWaitCommand } from './commands/wait.ts';
import { connect, refusedWords } from './contexts.ts';
import { addExamples } from './examples.ts';
import { linesOfRefusal } from './inputs/refusals.ts';
import { documentsFolder, OPERATOR_GUIDE, USER_GUIDE } from './machine/programs.ts';
import { addCopyCommand } from './streams/cp.ts';
import { addExecCommand } from './streams/exec.ts';
import { addForwardCommand } from './streams/forward.ts';
import { Exit, FAILED, ProblemsError } from './terminal/exit.ts';
import { onOneLine } from './terminal/table.ts';
import type { Terminal } from './terminal/terminal.ts';

const UNAUTHENTICATED = 401;
/** Commands that take the words of another program. */
const TAKE_WORDS: ReadonlySet<string> = new Set(['run', 'exec']);
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of this path is not a folder',
  EISDIR: 'this is a folder',
  EACCES: 'you have no permission for it',
  EPERM: 'you have no permission for it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'there is no space left',
  EEXIST: 'this exists',
};

/** Runs the command line. Resolves to the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await programOf(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownCommand') suggestGroups(terminal, args[0] ?? '');
      if (error.code === 'commander.unknownOption' && TAKE_WORDS.has(args[0] ?? ''))
        terminal.say(`Words of the command come after --, as in berth ${args[0]} ... -- sh -c date`);
      return error.exitCode === 0 ? 0 : FAILED;
    }
    for (const line of await wordsOf(error, args[0] === 'login', terminal.env)) terminal.say(onOneLine(line));
    return error instanceof Exit ? error.code : FAILED;
  }
}

/** Names the commands of groups that have this name, such as `host drain` for `drain`. */
function suggestGroups(terminal: Terminal, word: string): void {
  const groups = programOf(terminal).commands.filter(({ commands }) =>
    commands.some((one) => one.name() === word),
  );
  if (groups.length > 0)
    terminal.say(`There is ${groups.map((group) => `berth ${group.name()} ${word}`).join(', ')}.`);
}

/** The commands with their arguments and options. */
export function programOf(terminal: Terminal): Command {
  const program = new Command('berth')
    .description('Runs containerised applications on a cluster of Docker hosts')
    .version(VERSION, '-V, --version', 'the version of this program')
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => void terminal.out(text),
      writeErr: (text) => terminal.say(text.trimEnd()),
      ...(terminal.columns !== undefined && { getOutHelpWidth: () => terminal.columns ?? 80 }),
    });
  const connected = () => connect(terminal.env);
  addSessionCommands(program, terminal);
  addRunCommands(program, terminal, connected);
  addExecutionCommands(program, terminal, connected);
  addWaitCommand(program, terminal, connected);
  addLogCommand(program, terminal, connected);
  addExecCommand(program, terminal, connected);
  addCopyCommand(program, terminal, connected);
  addForwardCommand(program, terminal, connected);
  addOpenCommand(program, terminal, connected);
  addCheckCommands(program, terminal, connected);
  addMachineCommands(program, terminal);
  addEventCommand(program, terminal, connected);
  addTopCommand(program, terminal, (signal) => connect(terminal.env, signal));
  addUsageCommand(program, terminal, connected);
  addHostCommands(program, terminal, connected);
  addAccountCommands(program, terminal, connected);
  addPersonalTokenCommands(program, terminal, connected);
  addSecretCommands(program, terminal, connected);
  addRegistryCommands(program, terminal, connected);
  addShopCommands(program, terminal, connected);
  addAuditCommand(program, terminal, connected);
  addCompletionCommands(program, terminal, (signal) => connect(terminal.env, signal));
  addDocuments(program);
  addExamples(program);
  return program;
}

/** The help names where the guides are, in the checkout or the package. */
function addDocuments(program: Command): void {
  const folder = documentsFolder();
  if (folder === undefined) return;
  const guides = [USER_GUIDE, OPERATOR_GUIDE].map((name) => `  ${join(folder, name)}`);
  program.addHelpText('after', `\n${['Guides:', ...guides].join('\n')}`);
}

/** What went wrong, and the way out. */
async function wordsOf(error: unknown, isLogin: boolean, env: NodeJS.ProcessEnv): Promise<string[]> {
  if (error instanceof Exit && error.message === '') return [];
  if (error instanceof ProblemsError) return [error.message, ...error.problems.map((one) => `  ${one}`)];
  if (!(error instanceof BerthError)) return [error instanceof Error ? messageOf(error) : String(error)];
  if (error.status === UNAUTHENTICATED && !isLogin) return refusedWords(error.message, env);
  return linesOfRefusal(error);
}

/** Errors of the file system have the name of a system call. */
function messageOf({ message, code, path }: NodeJS.ErrnoException): string {
  const problem = FILE_PROBLEMS[code ?? ''];
  return problem !== undefined && path !== undefined ? `${path}: ${problem}.` : message;
}
