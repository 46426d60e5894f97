/**
 * Begun commands: a file for each command that this agent has started in a container, so that a restarted
 * agent ends what an earlier process of it has left (P260). No container can write these files, and the
 * engine, which issues the ids in them, reports what runs under each.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { type Logger, messageOf } from '../../logger.ts';
import { statusOf } from '../docker-error.ts';
import { endCommand } from '../processes/command-processes.ts';

const ID = /^[0-9a-f]{64}$/;

export class BegunCommands {
  readonly #folder: string;

  /** The folder is created with the first command. It must belong to one agent only. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Records a command before it starts. Returns the function to call once it has ended. Throws an Error for
   * people.
   */
  begin(id: string): () => void {
    const file = join(this.#folder, id);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(file, '', { mode: 0o600 });
    } catch (error) {
      throw new Error(`the agent can't record the command in its data folder: ${messageOf(error)}`);
    }
    return () => rmSync(file, { force: true });
  }

  /**
   * Ends those that an earlier process has left. Must be called before the first `begin`. A command that the
   * engine does not report, or whose container `isOwn` refuses, is forgotten. Never rejects; what fails is
   * logged, and tried again by the next process.
   */
  async endLeft(docker: Docker, isOwn: (info: ContainerInspectInfo) => boolean, log: Logger): Promise<void> {
    const ended = this.#recorded().map(async (id) => {
      try {
        const left = await leftCommand(docker, id);
        if (left && isOwn(left.container)) {
          const { Id, State } = left.container;
          await endCommand({ id: Id, pid: State.Pid }, left.pid);
          log('command.left', { container: Id, exec: id });
        }
        rmSync(join(this.#folder, id), { force: true });
      } catch (error) {
        log('command.left', { exec: id, reason: messageOf(error) });
      }
    });
    await Promise.all(ended);
  }

  #recorded(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => ID.test(name));
    } catch {
      return [];
    }
  }
}

/** Undefined if it does not run. */
async function leftCommand(
  docker: Docker,
  id: string,
): Promise<{ pid: number; container: ContainerInspectInfo } | undefined> {
  try {
    const { Running, Pid, ContainerID } = await docker.getExec(id).inspect();
    if (!Running || Pid <= 0) return undefined;
    const container = await docker.getContainer(ContainerID).inspect();
    return container.State.Running ? { pid: Pid, container } : undefined;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}
