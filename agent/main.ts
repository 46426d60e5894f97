/**
 * Entry of `npm run agent` and of the bundle: one agent on the engine it is told of, which must be running; with `join` only
 * its registration, with `check` only whether this machine will do.
 */

import { joinCluster, runAgent } from './agent-process.ts';
import { ConfigError } from './config.ts';
import { RefusedError } from './connection/refused-error.ts';
import { checkHost } from './host/check.ts';
import { messageOf } from './logger.ts';

const commands: Record<string, (env: NodeJS.ProcessEnv) => Promise<string>> = {
  join: async (env) => `${await joinCluster(env)}\n`,
  check: checkHost,
};

try {
  const [command] = process.argv.slice(2);
  if (command === undefined) await runAgent(process.env);
  else if (Object.hasOwn(commands, command))
    process.stdout.write((await commands[command]?.(process.env)) ?? '');
  else
    throw new ConfigError(
      `There is no command ${command}: join makes this machine a host, check looks whether it can be one; without one the agent runs.`,
    );
  // Calls of the engine that are still under way are none of the process's business any more.
  process.exit(0);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  // 2: there is no use in starting it again, as what watches over services does, before a person has acted.
  process.exit(error instanceof RefusedError || error instanceof ConfigError ? 2 : 1);
}
