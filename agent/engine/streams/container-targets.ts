/**
 * Connects streams to running containers: their commands, their files and their ports. Touches only
 * containers with the labels of this deployment and host (P6).
 */
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { MessageMemory } from '../../../shared/streams/socket-messages.ts';
import type { StreamTarget } from '../../../shared/streams/targets.ts';
import type { Logger } from '../../logger.ts';
import { statusOf, wrapErrors } from '../docker-error.ts';
import { label } from '../labels.ts';
import { signalProblem } from '../processes/command-processes.ts';
import { AppConnections } from './app-connections.ts';
import type { BegunCommands } from './begun-commands.ts';
import { copyIn } from './copy-in.ts';
import { copyOut } from './copy-out.ts';
import { startExec } from './exec.ts';
import { HttpTarget } from './http-target.ts';
import { markedMounts } from './mount-points.ts';
import { connectTo } from './socket-target.ts';
import type { Target } from './target.ts';
import { WebSocketTarget } from './websocket-target.ts';

export interface ContainerTargetsOptions {
  deployment: string;
  host: string;
  /** True if the engine is on the agent's machine. */
  local: boolean;
  /** The folder of files with secrets. */
  secretsDir: string | null;
  /** Has the commands that run. */
  begun?: BegunCommands;
}

/** Connects to a container. Throws an Error for people. */
export type ConnectContainer = (
  container: { id: string; ipAddress: string },
  target: StreamTarget,
) => Promise<Target>;

const REMOTE = "the engine of this host is on another machine, where the agent can't";

/** `docker` is for calls that last as long as a command runs. */
export function containerTargets(docker: Docker, options: ContainerTargetsOptions): ConnectContainer {
  const toPort = portTargets();
  return async ({ id, ipAddress }, target) => {
    if (target.kind === 'tcp' || target.kind === 'http' || target.kind === 'websocket') {
      if (!options.local) throw new Error(`${REMOTE} reach the ports of containers`);
      return toPort({ id, ipAddress }, target);
    }
    if (!options.local) throw new Error(`${REMOTE} end commands`);
    const info = await inspected(docker, id);
    if (!isOwn(info, options) || !info.State.Running) throw new Error('the service is not running');
    const container = { id, pid: info.State.Pid };
    const problem = await signalProblem(container);
    if (problem !== undefined) throw new Error(`this host runs no commands in services: ${problem}`);
    const run = (words: string[]) => startExec(docker, container, { kind: 'exec', words }, options.begun);
    if (target.kind === 'files-out') return copyOut(run, target, await markedMounts(info));
    if (target.kind === 'files-in') return copyIn(run, target, await markedMounts(info), Date.now());
    if (target.user !== undefined && mountsFolders(info, options))
      throw new Error('a service that mounts folders of the host takes no other user; leave the user out');
    return startExec(docker, container, target, options.begun);
  };
}

/** Connects to ports of containers. */
export function portTargets() {
  const connections = new AppConnections();
  const memory = new MessageMemory();
  return async (
    { id, ipAddress: host }: Parameters<ConnectContainer>[0],
    target: Extract<StreamTarget, { port: number }>,
  ): Promise<Target> => {
    const { port } = target;
    if (target.kind === 'tcp') return connectTo(host, port);
    if (target.kind === 'websocket') return new WebSocketTarget({ host, port }, target.head, memory);
    return new HttpTarget(connections, { host, port, container: id, client: target.client }, target.head);
  };
}

async function inspected(docker: Docker, id: string): Promise<ContainerInspectInfo> {
  try {
    return await docker.getContainer(id).inspect();
  } catch (error) {
    if (statusOf(error) === 404) throw new Error('the service is not running');
    return wrapErrors(Promise.reject(error));
  }
}

/** Ends the commands that an earlier process of this agent has left (BegunCommands.endLeft). */
export const endLeftCommands = async (
  docker: Docker,
  options: ContainerTargetsOptions,
  log: Logger,
): Promise<void> => options.begun?.endLeft(docker, (info) => isOwn(info, options), log);

const isOwn = ({ Config }: ContainerInspectInfo, { deployment, host }: ContainerTargetsOptions): boolean =>
  Config.Labels?.[label.deployment] === deployment && Config.Labels[label.host] === host;

/** Secrets are files of this agent, and read-only. Anonymous volumes are the container's own. */
export const mountsFolders = (
  { HostConfig }: Pick<ContainerInspectInfo, 'HostConfig'>,
  { secretsDir }: Pick<ContainerTargetsOptions, 'secretsDir'>,
): boolean =>
  (HostConfig.Mounts ?? []).some(
    ({ Type, Source }) => Type !== 'bind' || secretsDir === null || !Source.startsWith(`${secretsDir}/`),
  );
