/** Decides what may stand at the cursor, from the commands and options of the program itself. Pure. */
import type { Argument, Command, Option } from 'commander';

export interface Candidate {
  value: string;
  description: string;
}

/** What may stand at the cursor. */
export interface Place {
  /** Words of the program itself: commands, options, or the choices of an argument. */
  candidates: readonly Candidate[];
  /** What else is meant, by the names of an argument or of the value of an option: `id`, `host`, `file`. */
  kinds: readonly string[];
  /** Arguments of the command before the cursor. */
  operands: readonly string[];
}

/** `words`: those after `berth`. The last one is at the cursor, and may be empty. */
export function placeAt(program: Command, words: readonly string[]): Place {
  const current = words.at(-1) ?? '';
  const { command, parent, operands, option, isRest } = walk(program, words.slice(0, -1));
  if (option) return { ...meantBy(option.argChoices, placeholderOf(option)), operands };
  if (current.startsWith('-') && !isRest) return { candidates: optionsOf(command), kinds: [], operands };
  const { registeredArguments } = command;
  const argument = registeredArguments[operands.length] ?? variadic(registeredArguments.at(-1));
  const subcommands = operands.length === 0 && !isRest ? commandsOf(command) : [];
  if (argument?.name() === 'command') return { candidates: commandsOf(parent), kinds: [], operands };
  const { candidates, kinds } = meantBy(argument?.argChoices, argument?.name() ?? '');
  return { candidates: [...subcommands, ...candidates], kinds, operands };
}

interface Walked {
  command: Command;
  /** The command of which it is one; the program itself has none above it. */
  parent: Command;
  operands: string[];
  /** The option whose value is at the cursor. */
  option: Option | undefined;
  /** Whether `--` has ended the options. */
  isRest: boolean;
}

function walk(program: Command, words: readonly string[]): Walked {
  const walked: Walked = {
    command: program,
    parent: program,
    operands: [],
    option: undefined,
    isRest: false,
  };
  for (const word of words) {
    const subcommand = walked.operands.length === 0 ? subcommandOf(walked.command, word) : undefined;
    if (walked.option) walked.option = undefined;
    else if (walked.isRest) walked.operands.push(word);
    else if (word === '--') walked.isRest = true;
    else if (word.startsWith('-') && word !== '-') walked.option = valueExpectedBy(walked.command, word);
    else if (subcommand) Object.assign(walked, { command: subcommand, parent: walked.command });
    else walked.operands.push(word);
  }
  return walked;
}

const subcommandOf = (command: Command, word: string): Command | undefined =>
  visibleCommands(command).find((one) => [one.name(), ...one.aliases()].includes(word));

const valueExpectedBy = (command: Command, word: string): Option | undefined =>
  command.options.find(({ short, long, required }) => required && (short === word || long === word));

const variadic = (argument: Argument | undefined): Argument | undefined =>
  argument?.variadic ? argument : undefined;

const visibleCommands = (command: Command): Command[] => command.createHelp().visibleCommands(command);

const commandsOf = (command: Command): Candidate[] =>
  visibleCommands(command).map((one) => ({ value: one.name(), description: one.description() }));

const optionsOf = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));

/** The name of an option's value, such as `file` of `--env-file <file>`. */
const placeholderOf = ({ flags }: Option): string => /<([^>]+)>/.exec(flags)?.[1] ?? '';

function meantBy(choices: readonly string[] | undefined, name: string): Omit<Place, 'operands'> {
  if (choices) return { candidates: choices.map((value) => ({ value, description: '' })), kinds: [] };
  if (name === 'true|false') return meantBy(name.split('|'), '');
  return { candidates: [], kinds: name.split(/\||-or-/).filter((kind) => kind !== '') };
}
