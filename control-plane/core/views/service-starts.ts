/** Starts of services, as the page and the API show them. Pure. */
import type { ServiceStart } from '../model/service-history.ts';

/** A start of one of an execution's services. */
export interface StartView extends ServiceStart {
  serviceId: number;
  service: string;
}

/** How a start ended, such as `exit code 137 (out of memory)`; empty while it has not. */
export function exitText({ endMs, exitCode, outOfMemory, reason }: ServiceStart): string {
  if (endMs === null) return '';
  const code = exitCode === null ? '' : `exit code ${exitCode}${outOfMemory ? ' (out of memory)' : ''}`;
  return [code, reason ?? ''].filter(Boolean).join('; ') || 'its container was removed from outside Berth';
}
