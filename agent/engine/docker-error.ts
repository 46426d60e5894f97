/** Classifies the engine's errors as temporary or permanent, and extracts the engine's message. */
import { EngineError, type EngineErrorKind } from './engine.ts';

/** The fields that a failed call of dockerode has besides its message. */
interface ApiError {
  statusCode?: number;
  json?: { message?: string } | null;
  message: string;
}

/** A 500 with one of these concerns the requested container and not the engine's state. */
const CONTAINER_FAULT =
  /executable file not found|no such file or directory|permission denied|is a directory|not a directory|exec format error|invalid|not allowed|not permitted|must be|cannot be|unknown (log|runtime)|bind source path/i;
/**
 * These end when other containers or processes free something, whatever else the message says. Ports on the
 * host and address ranges are included, since the engine picks them itself.
 */
const TRANSIENT =
  /no space left on device|cannot allocate memory|resource temporarily|too many open files|timed? ?out|port is already allocated|address already in use|could not find an available, non-overlapping/i;

/** Names and paths of users, as the engine quotes them: what they say must not classify an error. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** What a swarm manager answers to an engine whose container is to join a network. */
const SWARM_REFUSAL = /Could not attach to network (\S+): rpc error: code = (NotFound|PermissionDenied)/;

/** The problem with a swarm network, and its remedy. */
export const networkMessages = {
  noSwarm: (name: string) =>
    `network ${name} does not exist on this engine, which is not in a swarm: create it, or join the swarm that has it`,
  missing: (name: string) =>
    `network ${name} does not exist in the swarm: create it with docker network create --driver overlay --attachable ${name}`,
  closed: (name: string) => `network ${name} is not attachable: create it again with --attachable`,
};

export function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const message = isTimeout(error) ? 'the engine does not answer' : engineMessage(error);
  const [, network, code] = SWARM_REFUSAL.exec(message) ?? [];
  if (network !== undefined) {
    const { missing, closed } = networkMessages;
    return new EngineError('temporary', code === 'NotFound' ? missing(network) : closed(network), error);
  }
  return classifiedError(error, message);
}

/** The engine is to publish a port on an address that its host does not have, or no longer. */
const ADDRESS_MISSING = /cannot assign requested address/;

/** The engine could not mount a folder that the agent holds open. */
const PIN_LOST = /failed to mount local volume: mount \/proc\//;

function classifiedError(error: unknown, message: string): EngineError {
  if (PIN_LOST.test(message)) {
    const reason = 'the engine could not mount a folder of the host, which may have been removed meanwhile';
    return new EngineError('temporary', reason, error);
  }
  if (ADDRESS_MISSING.test(message)) {
    const remedy = 'correct BERTH_AGENT_BIND, or else BERTH_AGENT_ADDRESS, and restart the agent of the host';
    return new EngineError('temporary', `${message} (${remedy})`, error);
  }
  return new EngineError(kindOf(statusOf(error), message), message, error);
}

/** Converts any error of the client library to an EngineError. */
export async function wrapErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw engineError(error);
  }
}

/** Treats an answer with one of `statuses` as success, because nothing is left to do. */
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

/** The engine's message without the client library's prefix. */
export function engineMessage(error: unknown): string {
  const { json, message = String(error) } = (error ?? {}) as Partial<ApiError>;
  return json?.message ?? message.replace(/^\(HTTP code \d+\) [\w ]+ - /, '').trim();
}

/** The engine has not answered in time: dockerode only reports that its own side has given up. */
const isTimeout = (error: unknown): boolean =>
  ['AbortError', 'TimeoutError'].includes((error as Error | null)?.name ?? '');

function kindOf(status: number | undefined, message: string): EngineErrorKind {
  if (status === undefined) return 'unreachable';
  if (status === 404 && /no such image/i.test(message)) return 'image-missing';
  const words = message.replace(QUOTED, '""');
  if (TRANSIENT.test(words)) return 'temporary';
  if (status < 500) return 'permanent';
  return CONTAINER_FAULT.test(words) ? 'permanent' : 'temporary';
}

/** A port of the host that the container is to publish has been taken. It has not run. */
export const isPortTaken = (error: unknown): boolean =>
  /port is already allocated|address already in use/i.test(engineMessage(error));

/** Only the engine runs its init process, so no command of a user stands there. */
const INIT_MISSING =
  /exec: "[^"]*(?:docker-init|tini)[^"]*": (?:executable file not found|stat |no such file)/;

export const isNetworkMissing = (error: unknown): boolean =>
  statusOf(error) === 404 && /network .* not found/i.test(engineMessage(error));

export const isPinLost = (error: unknown): boolean => PIN_LOST.test(engineMessage(error));

/** True if the engine reports an init process but cannot find its program. */
export const isInitMissing = (error: unknown): boolean => INIT_MISSING.test(engineMessage(error));
