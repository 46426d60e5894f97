/** Entry of `npm run agent`: one agent on the engine it is told of, which must be running; or, with `join`, only its registration. */
import { ConfigError } from './config.ts';
import { wordsOf } from './journal.ts';
import { joinCluster, runAgent } from './run.ts';

try {
  const [command] = process.argv.slice(2);
  if (command === 'join') process.stdout.write(`${await joinCluster(process.env)}\n`);
  else if (command === undefined) await runAgent(process.env);
  else
    throw new ConfigError(
      `There is no command ${command}: join makes this machine a host; without one the agent runs.`,
    );
  // Calls of the engine that are still under way are none of the process's business any more.
  process.exit(0);
} catch (error) {
  process.stderr.write(`${wordsOf(error)}\n`);
  process.exit(1);
}
