/** Why an agent's hello is refused before any turn sees it. Pure. */
import type { CloseReason } from '../../../shared/protocol/close.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';

export type Hello = Extract<Up, { type: 'hello' }>;

/** The arguments that close the connection; undefined if the hello may be served. */
export function helloProblem(
  { version, deployment }: Pick<Hello, 'version' | 'deployment'>,
  deploymentName: string,
): [reason: CloseReason, detail: string] | undefined {
  if (version < OLDEST_PROTOCOL_VERSION || version > PROTOCOL_VERSION) {
    const range = `${OLDEST_PROTOCOL_VERSION} to ${PROTOCOL_VERSION}`;
    return ['version', `the agent has protocol version ${version}, the control plane ${range}`];
  }
  if (deployment !== deploymentName)
    return ['wrongDeployment', `this control plane serves deployment ${deploymentName}`];
  return undefined;
}
