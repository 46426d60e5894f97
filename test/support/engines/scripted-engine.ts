/**
 * An engine in memory behind a real socket, with its real client: what adapters of the agent request of an
 * engine, for unit tests of them. It starts no process, and answers 501 to all that it does not have.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { onTestFinished } from 'vitest';
import { connectEngine, unixHost } from '../../../agent/engine/engine-address.ts';
import { testFolder } from '../tools/test-folder.ts';

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

export interface ScriptedNetwork {
  Id: string;
  Name: string;
  Created: string;
  Scope: string;
  Labels: Record<string, string>;
  IPAM: { Config: { Subnet: string }[] };
  [field: string]: unknown;
}

interface Listed {
  State?: string;
  Labels?: Record<string, string>;
  HostConfig?: { NetworkMode: string };
  NetworkSettings?: { Networks?: Record<string, { NetworkID: string }> };
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
  /** The same without queries. */
  readonly calls: string[] = [];
  readonly containers = new Map<string, Docker.ContainerInspectInfo>();
  images: ScriptedImage[] = [];
  info = {
    ...{ ID: 'E1', DockerRootDir: '/nowhere', MemTotal: 2 ** 30, NCPU: 4, ServerVersion: '28' },
    ...{ OSType: 'linux', Architecture: 'x86_64', InitBinary: 'docker-init' },
    ...{ CpuCfsPeriod: true, CpuCfsQuota: true },
  };
  swarm: unknown = {};
  readonly networks: ScriptedNetwork[] = [];
  /** What the engine was given to create, and who was connected to which network. */
  readonly created: Record<string, unknown>[] = [];
  readonly connected: string[] = [];
  /** Answers in place of the engine: a JSON value, or a refusal that it throws. */
  before: ((request: EngineRequest) => unknown) | undefined;
  /** Answers in place of the engine. */
  instead: (request: string, body: string, headers: IncomingMessage['headers']) => Answer | Promise<Answer> =
    () => undefined;
  readonly events: ServerResponse[] = [];
  folder = '';
  socket = '';
  #ids = 0;

  static async open(
    upgraded?: (socket: Duplex) => void,
  ): Promise<{ engine: ScriptedEngine; docker: Docker }> {
    const engine = new ScriptedEngine();
    engine.folder = await listen((request, response) => void engine.#answer(request, response), upgraded);
    engine.socket = `${engine.folder}/engine.sock`;
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

  /** Refuses all requests that contain this. */
  refuse(wanted: string, status: number, message: string): void {
    this.before = ({ call }) => {
      if (call.includes(wanted)) throw new Refusal(status, message);
    };
  }

  set(id: string, State: object): void {
    const container = this.containers.get(id);
    if (container) Object.assign(container.State, State);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://engine');
    const line = `${request.method} ${decodeURIComponent(url.pathname)}`;
    const body = await text(request);
    this.calls.push(line);
    this.requests.push(`${line}${decodeURIComponent(url.search)}`);
    const asked = {
      ...{ call: line, query: url.searchParams },
      filters: JSON.parse(url.searchParams.get('filters') ?? '{}'),
      body: request.headers['content-type']?.includes('json') && body !== '' ? JSON.parse(body) : undefined,
    };
    const answer =
      (await this.#before(asked)) ??
      (await this.instead(this.requests.at(-1) ?? '', body, request.headers)) ??
      this.#usual(asked, body, response);
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

  #usual(asked: EngineRequest, body: string, response: ServerResponse): Answer {
    const { call: line, query } = asked;
    const [, method, kind, name = '', verb = ''] =
      /^(\w+) \/(\w+)(?:\/(.+?))??(?:\/(json|tag|start|stop|kill|update|create|prune|connect|disconnect))?$/.exec(
        line,
      ) ?? [];
    if (line === 'GET /info') return { status: 200, body: { ...this.info, Swarm: this.swarm } };
    if (line === 'GET /events') {
      this.events.push(response.writeHead(200));
      response.flushHeaders();
      return 'silence';
    }
    if (kind === 'images') return this.#image(`${method} ${verb}`, name, query);
    if (kind === 'networks') return this.#network(`${method} ${verb}`, name, asked);
    if (kind === 'containers') return this.#container(`${method} ${verb}`, name, query, body);
    return undefined;
  }

  /** A refusal with the status 0 breaks the connection. */
  async #before(request: EngineRequest): Promise<Answer> {
    try {
      const found = await this.before?.(request);
      if (found === undefined) return undefined;
      if (request.call.startsWith('DELETE')) return { status: 204 };
      return { status: request.call.endsWith('/create') ? 201 : 200, body: found as object };
    } catch (error) {
      const { status = 500, message } = error as Refusal;
      return status === 0 ? 'loss' : { status, body: { message } };
    }
  }

  #network(what: string, key: string, { filters, body: given }: EngineRequest): Answer {
    const find = (of: string) => this.networks.find(({ Id, Name }) => Id === of || Name === of);
    if (what === 'GET ' && key === '') {
      const { name, label, scope } = filters;
      const isListed = ({ Name, Scope, Labels }: ScriptedNetwork) =>
        (!name || Name.includes(String(name))) &&
        (!scope || scope.includes(Scope)) &&
        hasLabels(Labels, label);
      return { status: 200, body: this.networks.filter(isListed) };
    }
    if (what === 'POST create') {
      if (find(given.Name))
        return { status: 409, body: { message: `network with name ${given.Name} already exists` } };
      this.created.push(given);
      const Id = `n${this.created.length}`;
      const Scope = given.Driver === 'overlay' ? 'swarm' : 'local';
      this.networks.push({ Created: Id, Scope, IPAM: { Config: [] }, ...given, Id });
      return { status: 201, body: { Id } };
    }
    const found = find(key);
    if (!found) return { status: 404, body: { message: `network ${key} not found` } };
    if (what === 'DELETE ') {
      this.networks.splice(this.networks.indexOf(found), 1);
      return { status: 204 };
    }
    if (what === 'POST connect') {
      this.connected.push(`${given.Container} as ${given.EndpointConfig.Aliases} to ${found.Name}`);
      const settings = this.containers.get(given.Container)?.NetworkSettings;
      if (settings) settings.Networks[found.Name] = { NetworkID: found.Id } as never;
    }
    return { status: 200, body: found };
  }

  addNetwork = (one: Partial<ScriptedNetwork>): void => {
    const [Id, IPAM] = [`n-${this.networks.length}`, { Config: [] }];
    this.networks.push({ ...{ Id, Name: Id, Created: '0', Scope: 'local', Labels: {}, IPAM }, ...one });
  };

  /** A container as a listing has it. */
  addContainer = (Id: string, on: string, { State = 'running', Labels = {}, ...rest }: Listed = {}): void => {
    const id = this.networks.find(({ Id, Name }) => Id === on || Name === on)?.Id ?? on;
    this.containers.set(Id, {
      ...{ Id, Name: `/${Id}-name`, State: { Status: State }, Config: { Labels }, Mounts: [] },
      ...{ HostConfig: { NetworkMode: on }, NetworkSettings: { Networks: { [on]: { NetworkID: id } } } },
      ...rest,
    } as never);
  };

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
    // Never a part of a real id: an agent kills the processes whose control groups have the id in their path.
    const Id = `scripted${this.#ids}`;
    const State = { Status: 'created', Pid: 0, ExitCode: 0, OOMKilled: false, StartedAt: '', FinishedAt: '' };
    const NetworkSettings = { Networks: {}, Ports: {} };
    const made = { Id, Name: `/${name}`, Image: image.Id, Path: '', Mounts: [], NetworkSettings, State };
    this.containers.set(Id, { ...made, Config: { Image, ...Config }, HostConfig } as never);
    return { status: 201, body: { Id, Warnings: [] } };
  }
}

const hasLabels = (labels: Record<string, string> = {}, wanted: string[] = []): boolean =>
  wanted.every((one) => {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/.exec(one) ?? [];
    return name in labels && (value === undefined || labels[name] === value);
  });

const listed = (query: URLSearchParams) => {
  const { label, network } = JSON.parse(query.get('filters') ?? '{}');
  return ({ State, Config, NetworkSettings }: Docker.ContainerInspectInfo): boolean =>
    (query.get('all') === 'true' || State.Status === 'running') &&
    hasLabels(Config.Labels, label) &&
    (!network ||
      Object.values(NetworkSettings?.Networks ?? {}).some(({ NetworkID }) => network.includes(NetworkID)));
};

const summary = (one: Docker.ContainerInspectInfo) => ({
  ...{ Id: one.Id, Names: [one.Name], ImageID: one.Image, State: one.State.Status, Mounts: one.Mounts },
  ...{ Labels: one.Config.Labels ?? {}, HostConfig: one.HostConfig, NetworkSettings: one.NetworkSettings },
});

/** The client of an engine with these answers, until the test ends. */
export const engineWith = async (answers: RequestListener): Promise<Docker> =>
  connectEngine(unixHost(`${await listen(answers)}/engine.sock`));

/** Resolves to the folder of the socket. `upgraded` gets the connections of commands. */
async function listen(answers: RequestListener, upgraded?: (socket: Duplex) => void): Promise<string> {
  const server = createServer(answers);
  if (upgraded)
    server.on('upgrade', (_, socket, head) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
      // The body of the request comes first.
      if (head.length > 0) upgraded(socket);
      else socket.once('data', () => upgraded(socket));
    });
  const path = await testFolder();
  await new Promise<void>((resolve) => server.listen(`${path}/engine.sock`, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return path;
}

export interface EngineRequest {
  /** For example `POST /networks/create`. */
  call: string;
  query: URLSearchParams;
  filters: Record<string, string[]>;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON.
  body: any;
}

/** What a route throws for an answer that is an error. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An engine that answers by what this function returns or throws. Without a result it answers 404. */
export async function scriptedEngine(
  answer: (request: EngineRequest) => unknown,
  upgraded?: (socket: Duplex) => void,
): Promise<{ docker: Docker; calls: string[] }> {
  const { engine, docker } = await ScriptedEngine.open(upgraded);
  engine.before = async (request) => {
    const found = await answer(request);
    if (found === undefined) throw new Refusal(404, `no such thing: ${request.call}`);
    return found;
  };
  return { docker, calls: engine.calls };
}
