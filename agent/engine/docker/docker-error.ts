/** Owns the reading of the engine's errors: which may pass, which will not, and the engine's own words for them. */
import { EngineError, type EngineErrorKind } from '../engine.ts';

/** What a failed call of dockerode has beside a message. */
interface ApiError {
  statusCode?: number;
  json?: { message?: string } | null;
  message: string;
}

/** A 500 with one of these is about the container asked for, not about the engine's state. */
const CONTAINER_FAULT =
  /executable file not found|no such file or directory|permission denied|is a directory|not a directory|exec format error|invalid|not allowed|not permitted|must be|cannot be|unknown (log|runtime)|bind source path/i;
/** These pass when others leave, whatever else the message says. Ports on the host and ranges of addresses the engine picks itself. */
const TRANSIENT =
  /no space left on device|cannot allocate memory|resource temporarily|too many open files|timed? ?out|port is already allocated|address already in use|could not find an available, non-overlapping/i;

/** What a manager of the swarm answers to the engine whose container is to join a network. */
const SWARM_REFUSAL = /Could not attach to network (\S+): rpc error: code = (NotFound|PermissionDenied)/;

/** What is wrong with a network of a swarm, and the way out. */
export const networkMessages = {
  noSwarm: (name: string) =>
    `network ${name} does not exist on this engine, which is in no swarm: make it, or join the swarm that has it`,
  missing: (name: string) =>
    `network ${name} does not exist in the swarm: docker network create --driver overlay --attachable ${name}`,
  closed: (name: string) => `network ${name} is not attachable: make it anew with --attachable`,
};

export function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const message = engineMessage(error);
  const [, network, code] = SWARM_REFUSAL.exec(message) ?? [];
  if (network !== undefined) {
    const { missing, closed } = networkMessages;
    return new EngineError('temporary', code === 'NotFound' ? missing(network) : closed(network), error);
  }
  return classifiedError(error, message);
}

function classifiedError(error: unknown, message: string): EngineError {
  return new EngineError(kindOf(statusOf(error), message), message, error);
}

/** Turns whatever the client library throws into an EngineError. */
export async function wrapErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw engineError(error);
  }
}

/** What the engine answers where there is nothing left to do counts as done. */
export async function tolerate(call: Promise<unknown>, statuses: number[]): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!statuses.includes(statusOf(error) ?? 0)) throw engineError(error);
  }
}

export function statusOf(error: unknown): number | undefined {
  return (error as ApiError | null)?.statusCode;
}

/** The engine's sentence without the client library's frame around it. */
export function engineMessage(error: unknown): string {
  const { json, message = String(error) } = (error ?? {}) as Partial<ApiError>;
  return json?.message ?? message.replace(/^\(HTTP code \d+\) [\w ]+ - /, '').trim();
}

function kindOf(status: number | undefined, message: string): EngineErrorKind {
  if (status === undefined) return 'unreachable';
  if (status === 404 && /no such image/i.test(message)) return 'image-missing';
  if (TRANSIENT.test(message)) return 'temporary';
  if (status < 500) return 'permanent';
  return CONTAINER_FAULT.test(message) ? 'permanent' : 'temporary';
}

export const isNetworkMissing = (error: unknown): boolean =>
  statusOf(error) === 404 && /network .* not found/i.test(engineMessage(error));

/** The engine says it has an init process, and then can't find its program. */
export const isInitMissing = (error: unknown): boolean => /docker-init|tini/.test(engineMessage(error));
