/** Entry of `npm run agent`: one agent on the engine it is told of. The engine must be running. */
import { wordsOf } from './journal.ts';
import { runAgent } from './run.ts';

try {
  await runAgent(process.env);
  // Calls of the engine that are still under way are none of the process's business any more.
  process.exit(0);
} catch (error) {
  process.stderr.write(`${wordsOf(error)}\n`);
  process.exit(1);
}
