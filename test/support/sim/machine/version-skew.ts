/**
 * Translates messages of an agent with another protocol version. An agent of the first version has none of
 * the later fields.
 */
import type { Down } from '../../../../shared/protocol/down.ts';
import type { Up } from '../../../../shared/protocol/up.ts';
import type { Frame } from '../world/network.ts';

/** A message as this agent sends it. `offset` is its protocol version relative to the current one. */
export function upAs(offset: number, frame: Frame): Frame {
  if (offset === 0 || typeof frame !== 'string') return frame;
  const message = JSON.parse(frame) as Up;
  if (message.type === 'hello') return JSON.stringify(helloAs(offset, message));
  if (offset > 0 || message.type !== 'report') return frame;
  const { type, sequence, observations, forgotten } = message;
  return JSON.stringify({ type, sequence, observations: observations.map(withoutLapse), forgotten });
}

/** A message as this agent understands it. */
export function downAs(offset: number, frame: Frame): Frame {
  if (offset >= 0 || typeof frame !== 'string') return frame;
  const message = JSON.parse(frame) as Down;
  if (message.type === 'welcome') return JSON.stringify({ ...message, leaseMs: undefined });
  if (message.type === 'sync') {
    const assignments = message.assignments.map(withoutLater);
    return JSON.stringify({ ...message, assignments, unknown: undefined });
  }
  if (message.type === 'start')
    return JSON.stringify({ ...message, assignment: withoutLater(message.assignment) });
  if (message.type === 'logs.open' || message.type === 'logs.credit')
    return JSON.stringify({ ...message, collectMs: undefined, follow: undefined, tail: undefined });
  return message.type === 'ack' ? JSON.stringify({ ...message, timeMs: undefined }) : frame;
}

function helloAs(offset: number, hello: Extract<Up, { type: 'hello' }>): object {
  const version = hello.version + offset;
  if (offset > 0) return { ...hello, version };
  const { type, deployment, host, inventory } = hello;
  return { type, version, deployment, host, inventory: inventory.map(withoutLapse) };
}

const withoutLater = (one: object): object => ({ ...one, idProof: undefined, health: undefined });
const withoutLapse = (one: object): object => ({ ...one, lapsed: undefined, health: undefined });
