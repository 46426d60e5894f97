/**
 * Entry of `npm run agent` and of the bundle. Without a command it runs an agent, whose engine must be
 * running. `join` only registers the host, `check` only reports whether this machine can be a host, and
 * `settings` replaces the settings in a file that Berth no longer has.
 */

import { joinCluster, runAgent } from './agent-process.ts';
import { ConfigError } from './config.ts';
import { RefusedError } from './connection/refused-error.ts';
import { checkHost } from './host/check.ts';
import { rewriteSettingsFile } from './host/settings-file.ts';
import { messageOf } from './logger.ts';

const commands: Record<string, (env: NodeJS.ProcessEnv, file?: string) => Promise<string>> = {
  join: async (env) => `${await joinCluster(env)}\n`,
  check: checkHost,
  settings: async (_, file) => {
    if (file === undefined) throw new ConfigError('Name the file of settings: settings FILE.');
    return rewriteSettingsFile(file);
  },
};

try {
  const [command, file] = process.argv.slice(2);
  if (command === undefined) await runAgent(process.env);
  else if (Object.hasOwn(commands, command))
    process.stdout.write((await commands[command]?.(process.env, file)) ?? '');
  else
    throw new ConfigError(
      `Unknown command ${command}. Use join to register this machine as a host, check to examine it, settings FILE to rewrite a file of settings, or no command to run the agent.`,
    );
  // Engine calls may still be in progress. The process must not wait for them.
  process.exit(0);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  // 2: starting the agent again is useless until a person has acted. A process supervisor should not restart
  // it.
  process.exit(error instanceof RefusedError || error instanceof ConfigError ? 2 : 1);
}
