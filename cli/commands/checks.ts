/** `berth validate` and `berth version`. */

import type { Command } from 'commander';
import { type Berth, BerthError } from '../../client/berth.ts';
import { VERSION } from '../../client/version.ts';
import { nameOf, readDescription } from '../description.ts';
import { ProblemsError } from '../terminal/exit.ts';
import type { Form } from '../terminal/list.ts';
import { jsonOf } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function addCheckCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('validate <file>')
    .description('Check an application description or a Compose file, and report all its problems')
    .option('--json', 'the problems as JSON')
    .action(async (file: string, { json }: Form) => {
      try {
        const application = await readDescription(file, terminal);
        await (await connect()).validate(application);
      } catch (error) {
        const problems = problemsOf(error);
        if (json && problems) await terminal.out(jsonOf({ valid: false, problems }));
        throw error;
      }
      if (json) return terminal.out(jsonOf({ valid: true, problems: [] }));
      terminal.say(`${nameOf(file)} is valid.`);
    });
  program
    .command('version')
    .description('The versions of this program and of the control plane')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const info = await (await connect()).info().catch((error: unknown) => error as Error);
      const server = info instanceof Error ? null : info;
      if (json) return terminal.out(jsonOf({ client: VERSION, server }));
      const known = server && `${server.version} (${server.deployment_name}, API ${server.api_version})`;
      await terminal.out(`client ${VERSION}\nserver ${known ?? `unknown: ${(info as Error).message}`}\n`);
    });
}

/** Undefined: the description could not be read or checked. */
function problemsOf(error: unknown): readonly object[] | undefined {
  if (error instanceof ProblemsError) return error.problems.map((message) => ({ message }));
  return error instanceof BerthError && error.problems.length > 0 ? error.problems : undefined;
}
