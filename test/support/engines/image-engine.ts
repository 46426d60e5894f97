/**
 * An engine in memory behind a real socket: what the agent's adapters request of an engine, for unit tests of
 * them. It starts no process, and answers 501 to everything that it does not have.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { onTestFinished } from 'vitest';
import { connectEngine, unixHost } from '../../../agent/engine/engine-address.ts';
import { scratchDir } from '../agents/agent-rig.ts';

export interface ScriptedImage {
  Id: string;
  RepoTags: string[] | null;
  RepoDigests?: string[];
  ParentId?: string;
  Size?: number;
  SharedSize?: number;
  Os?: string;
  Architecture?: string;
  Config?: object;
}

/**
 * `stream`: an answer that begins and stays open. `break-off`: the connection ends within such an answer.
 * `loss`: it ends without one. Undefined: what the engine usually answers.
 */
export type Answer =
  | { status: number; body?: object | string | Buffer; headers?: Record<string, string> }
  | 'silence'
  | 'stream'
  | 'break-off'
  | 'loss'
  | undefined;

export class ScriptedEngine {
  /** Requests so far, e.g. `POST /containers/c1/start`, with the query. */
  readonly requests: string[] = [];
  readonly containers = new Map<string, Docker.ContainerInspectInfo>();
  images: ScriptedImage[] = [];
  info = {
    ...{ ID: 'E1', DockerRootDir: '/nowhere', MemTotal: 2 ** 30, NCPU: 4, ServerVersion: '28' },
    ...{ OSType: 'linux', Architecture: 'x86_64', InitBinary: 'docker-init' },
    ...{ CpuCfsPeriod: true, CpuCfsQuota: true },
  };
  /** Answers in place of the engine. */
  instead: (request: string, body: string, headers: IncomingMessage['headers']) => Answer | Promise<Answer> =
    () => undefined;
  /** The streams of events that are open. */
  readonly events: ServerResponse[] = [];
  folder = '';
  socket = '';
  #ids = 0;

  static async open(): Promise<{ engine: ScriptedEngine; docker: Docker }> {
    const engine = new ScriptedEngine();
    const { path, remove } = await scratchDir();
    const server = createServer((request, response) => void engine.#answer(request, response));
    engine.folder = path;
    engine.socket = `${path}/engine.sock`;
    await new Promise<void>((resolve) => server.listen(engine.socket, resolve));
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await remove();
    });
    return { engine, docker: connectEngine(unixHost(engine.socket)) };
  }

  /** How many requests there were that match. */
  count = (wanted: RegExp): number => this.requests.filter((one) => wanted.test(one)).length;

  imageOf(name: string): ScriptedImage | undefined {
    return this.images.find(
      ({ Id, RepoTags, RepoDigests = [] }) =>
        Id === name || RepoTags?.includes(name) || RepoDigests.includes(name),
    );
  }

  event(Action: string, ID: string, rest: object = {}): void {
    for (const stream of this.events)
      stream.write(`${JSON.stringify({ Action, Actor: { ID, ...rest }, timeNano: Date.now() * 1e6 })}\n`);
  }

  /** Changes a container's state. */
  set(id: string, State: object): void {
    const container = this.containers.get(id);
    if (container) Object.assign(container.State, State);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://engine');
    const line = `${request.method} ${decodeURIComponent(url.pathname)}`;
    const body = await text(request);
    this.requests.push(`${line}${decodeURIComponent(url.search)}`);
    const answer =
      (await this.instead(this.requests.at(-1) ?? '', body, request.headers)) ??
      this.#usual(line, url.searchParams, body, response);
    if (answer === undefined) {
      response.writeHead(501, { 'Content-Type': 'application/json' }).end(`{"message":"no answer: ${line}"}`);
    } else if (answer === 'loss') {
      request.socket.destroy();
    } else if (answer === 'stream' || answer === 'break-off') {
      response.writeHead(200).write('{');
      if (answer === 'break-off') setImmediate(() => request.socket.destroy());
    } else if (answer !== 'silence') {
      const isText = typeof answer.body === 'string' || Buffer.isBuffer(answer.body);
      const type = { 'Content-Type': isText ? 'text/plain' : 'application/json' };
      response.writeHead(answer.status, { ...type, ...answer.headers });
      response.end(isText ? answer.body : answer.body && JSON.stringify(answer.body));
    }
  }

  #usual(line: string, query: URLSearchParams, body: string, response: ServerResponse): Answer {
    const [, method, kind, name = '', verb = ''] =
      /^(\w+) \/(\w+)(?:\/(.+?))??(?:\/(json|tag|start|stop|kill|update|create|prune))?$/.exec(line) ?? [];
    if (line === 'GET /info') return { status: 200, body: this.info };
    if (line === 'GET /events') {
      this.events.push(response.writeHead(200));
      response.flushHeaders();
      return 'silence';
    }
    if (kind === 'images') return this.#image(`${method} ${verb}`, name, query);
    if (kind === 'containers') return this.#container(`${method} ${verb}`, name, query, body);
    return undefined;
  }

  #image(what: string, name: string, query: URLSearchParams): Answer {
    if (what === 'GET json' && name === '') return { status: 200, body: this.images };
    const image = this.imageOf(name);
    if (!image) return { status: 404, body: { message: `No such image: ${name}` } };
    if (what === 'POST tag') {
      const tag = `${query.get('repo')}:${query.get('tag')}`;
      for (const one of this.images) one.RepoTags = (one.RepoTags ?? []).filter((other) => other !== tag);
      image.RepoTags = [...(image.RepoTags ?? []), tag];
      return { status: 201 };
    }
    if (what !== 'DELETE ')
      return { status: 200, body: { Os: 'linux', Architecture: 'amd64', Config: {}, ...image } };
    image.RepoTags = (image.RepoTags ?? []).filter((tag) => tag !== name);
    if (image.RepoTags.length === 0) this.images = this.images.filter((one) => one !== image);
    return { status: 200, body: [] };
  }

  #container(what: string, name: string, query: URLSearchParams, body: string): Answer {
    const all = [...this.containers.values()];
    if (what === 'GET json' && name === '')
      return { status: 200, body: all.filter(listed(query)).map(summary) };
    if (what === 'POST create') return this.#create(query.get('name') ?? '', JSON.parse(body));
    const container = all.find(({ Id, Name }) => Id === name || Name === `/${name}`);
    if (!container) return { status: 404, body: { message: `No such container: ${name}` } };
    if (what === 'GET json') return { status: 200, body: container };
    if (what === 'DELETE ') this.containers.delete(container.Id);
    const { Status } = container.State;
    if (what === 'POST start')
      this.set(container.Id, { Status: 'running', StartedAt: new Date().toISOString() });
    if (what === 'POST stop' || what === 'POST kill') this.set(container.Id, { Status: 'exited' });
    return { status: what === 'POST start' && Status === 'running' ? 304 : 204 };
  }

  #create(name: string, wanted: Docker.ContainerCreateOptions): Answer {
    const { Image = '', HostConfig = {}, ...Config } = wanted;
    const image = this.imageOf(Image);
    if (!image) return { status: 404, body: { message: `No such image: ${Image}` } };
    if ([...this.containers.values()].some((one) => name !== '' && one.Name === `/${name}`))
      return { status: 409, body: { message: `Conflict. The container name "/${name}" is already in use` } };
    this.#ids += 1;
    const Id = `c${this.#ids}`;
    const State = { Status: 'created', Pid: 0, ExitCode: 0, OOMKilled: false, StartedAt: '', FinishedAt: '' };
    const NetworkSettings = { Networks: {}, Ports: {} };
    const made = { Id, Name: `/${name}`, Image: image.Id, Path: '', Mounts: [], NetworkSettings, State };
    this.containers.set(Id, { ...made, Config: { Image, ...Config }, HostConfig } as never);
    return { status: 201, body: { Id, Warnings: [] } };
  }
}

const listed = (query: URLSearchParams) => {
  const wanted: string[] = JSON.parse(query.get('filters') ?? '{}').label ?? [];
  return ({ State, Config }: Docker.ContainerInspectInfo): boolean =>
    (query.get('all') === 'true' || State.Status === 'running') &&
    wanted.every((one) => `${Config.Labels?.[one.split('=')[0] ?? '']}` === one.slice(one.indexOf('=') + 1));
};

const summary = ({ Id, Image, State, Config, Mounts, NetworkSettings }: Docker.ContainerInspectInfo) => ({
  ...{ Id, ImageID: Image, State: State.Status, Labels: Config.Labels ?? {}, Mounts, NetworkSettings },
});
