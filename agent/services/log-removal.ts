/** Owns removing the logs of a service that nobody wants any more, and saying so (PROTOCOL.md P14). */

import { messageOf } from '../logger.ts';
import type { AgentOptions } from './agent-options.ts';

/** Where the disk does not let go of them, the control plane asks again after the next hello. */
export function removeLogs(
  service: number,
  { output, reporter, log }: Pick<AgentOptions, 'output' | 'reporter' | 'log'>,
): void {
  output.forget(service).then(
    () => reporter.forgot([service]),
    (error: unknown) => log('logs.removal-failed', { service, reason: messageOf(error) }),
  );
}
