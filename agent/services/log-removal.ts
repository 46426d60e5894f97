/** Removes the logs of a service at the control plane's request, and reports their removal (P14). */

import { messageOf } from '../logger.ts';
import type { AgentOptions } from './agent-options.ts';

/** If the removal fails, the control plane repeats its request after the next hello. */
export function removeLogs(
  service: number,
  { output, reporter, log }: Pick<AgentOptions, 'output' | 'reporter' | 'log'>,
): void {
  output.forget(service).then(
    () => reporter.forgot([service]),
    (error: unknown) => log('logs.removal-failed', { service, reason: messageOf(error) }),
  );
}
