/** Owns removing the logs of a service that nobody wants any more, and saying so (PROTOCOL.md P14). */

import { wordsOf } from '../logger.ts';
import type { AgentOptions } from './agent-options.ts';

/** Where the disk does not let go of them, the control plane asks again after the next hello. */
export function forgetLogs(
  service: number,
  { output, reporter, journal }: Pick<AgentOptions, 'output' | 'reporter' | 'journal'>,
): void {
  output.forget(service).then(
    () => reporter.forgot([service]),
    (error: unknown) => journal('logs.unforgotten', { service, reason: wordsOf(error) }),
  );
}
