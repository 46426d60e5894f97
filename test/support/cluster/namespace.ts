/**
 * A machine made of namespaces: a network, processes and mounts of its own. Everything in it ends with it. It
 * ends with the process that made it, even if that process is killed: the first process inside reads a pipe
 * that only its maker holds open.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemPath } from '../../../agent/system-programs.ts';

const run = promisify(execFile);
const env = { ...process.env, PATH: systemPath() };

/**
 * /run is empty, since containerd leaves sockets there. docker-init adopts processes that lose their parent.
 */
const FIRST_PROCESS = 'mount -t tmpfs tmpfs /run && echo ready && exec docker-init -- cat';
const KINDS = ['--net', '--pid', '--mount'];

export class Namespace {
  readonly #holder: ChildProcess;
  /** Process id of its first process, as seen from outside. */
  pid = 0;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  static async make(): Promise<Namespace> {
    const args = [...KINDS, '--fork', '--kill-child', '--mount-proc', 'sh', '-c', FIRST_PROCESS];
    const holder = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'pipe'], env });
    const namespace = new Namespace(holder);
    let complaint = '';
    holder.stderr?.on('data', (text) => {
      complaint += text;
    });
    const [said] = await Promise.race([once(holder.stdout ?? holder, 'data'), once(holder, 'exit')]);
    if (!String(said).startsWith('ready')) {
      throw new Error(`unshare makes no namespaces (this needs root on Linux): ${complaint || said}`);
    }
    namespace.pid = await onlyChild(holder.pid);
    await namespace.run('ip link set lo up');
    return namespace;
  }

  /** Prefix of a command that must run on this network. The command ends with the process that starts it. */
  get onNetwork(): string[] {
    return ['nsenter', `--net=/proc/${this.pid}/ns/net`, 'setpriv', '--pdeathsig', 'KILL'];
  }

  /** Prefix of a command that must run inside, as the only child of the started process. */
  get inside(): string[] {
    return ['nsenter', `--target=${this.pid}`, ...KINDS];
  }

  /** Runs a command on this network to its end. Throws with its output if it fails. */
  async run(command: string): Promise<string> {
    const [file = '', ...args] = [...this.onNetwork, ...command.split(' ')];
    const { stdout } = await run(file, args, { env });
    return stdout;
  }

  /** Kills everything that runs inside. */
  async end(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, 'exit');
    this.#holder.stdin?.end();
    await ended;
  }
}

/** The process that `unshare` or `nsenter` has forked and waits for. */
export async function onlyChild(pid: number | undefined): Promise<number> {
  const child = Number.parseInt(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10);
  if (Number.isNaN(child)) throw new Error(`process ${pid} has no child`);
  return child;
}
