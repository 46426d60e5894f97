/** An engine whose networks and containers a test has before it, with the real client of it. */
import { type EngineRequest, Refusal, scriptedEngine } from './scripted-engine.ts';

export interface EngineNetwork {
  Id: string;
  Name: string;
  Created: string;
  Scope: string;
  Labels: Record<string, string>;
  IPAM: { Config: { Subnet: string }[] };
  [field: string]: unknown;
}

export interface EngineContainer {
  Id: string;
  Names: string[];
  State: string;
  Labels: Record<string, string>;
  HostConfig: { NetworkMode: string };
  NetworkSettings: { Networks: Record<string, { NetworkID: string }> };
}

type Route = (request: EngineRequest) => unknown;

export async function networkEngine() {
  const networks: EngineNetwork[] = [];
  const containers: EngineContainer[] = [];
  /** What the engine was given to create, and who was connected to which network. */
  const created: Record<string, unknown>[] = [];
  const connected: string[] = [];
  /** Answers before all else. By it, a test lets calls fail. */
  const engine = { before: undefined as Route | undefined, swarm: {} as unknown };

  const network = (key: string) => networks.find(({ Id, Name }) => Id === key || Name === key);
  const hasLabels = (labels: Record<string, string>, wanted: string[] = []) =>
    wanted.every((one) => {
      const [name = '', value] = one.split('=');
      return name in labels && (value === undefined || labels[name] === value);
    });

  const routes: Record<string, Route> = {
    'GET /info': () => ({ Swarm: engine.swarm }),
    'GET /networks': ({ filters: { name, label, scope } }) =>
      networks.filter(
        (one) =>
          (!name || one.Name.includes(String(name))) &&
          (!scope || scope.includes(one.Scope)) &&
          hasLabels(one.Labels, label),
      ),
    'POST /networks/create': ({ body }) => {
      if (network(body.Name)) throw new Refusal(409, `network with name ${body.Name} already exists`);
      created.push(body);
      const Id = `n${created.length}`;
      const scope = body.Driver === 'overlay' ? 'swarm' : 'local';
      networks.push({ Created: String(created.length), Scope: scope, IPAM: { Config: [] }, ...body, Id });
      return { Id };
    },
    'GET /containers/json': ({ query, filters: { label, network: on } }) =>
      containers.filter(
        (one) =>
          (query.get('all') === 'true' || one.State === 'running') &&
          hasLabels(one.Labels, label) &&
          (!on ||
            Object.values(one.NetworkSettings.Networks).some(({ NetworkID }) => on.includes(NetworkID))),
      ),
  };

  function other({ call, body }: EngineRequest): unknown {
    const [, method, kind, key = '', action] = /^(\w+) \/(\w+)\/([^/]+)(?:\/(\w+))?$/.exec(call) ?? [];
    if (kind === 'containers') return containers.find(({ Id }) => Id === key);
    const found = network(key);
    if (!found) throw new Refusal(404, `network ${key} not found`);
    if (method === 'DELETE') networks.splice(networks.indexOf(found), 1);
    if (action === 'connect') {
      connected.push(`${body.Container} as ${body.EndpointConfig.Aliases} to ${found.Name}`);
      const one = containers.find(({ Id }) => Id === body.Container);
      if (one) one.NetworkSettings.Networks[found.Name] = { NetworkID: found.Id };
    }
    return found;
  }

  const { docker, calls } = await scriptedEngine(
    (request) => engine.before?.(request) ?? (routes[request.call] ?? other)(request),
  );
  return {
    ...{ engine, docker, calls, networks, containers, created, connected },
    addNetwork: (one: Partial<EngineNetwork>): void => {
      const [Id, IPAM] = [`n-${networks.length}`, { Config: [] }];
      networks.push({ ...{ Id, Name: Id, Created: '0', Scope: 'local', Labels: {}, IPAM }, ...one });
    },
    addContainer: (Id: string, on: string, one: Partial<EngineContainer> = {}): void => {
      const Networks = { [on]: { NetworkID: network(on)?.Id ?? on } };
      containers.push({
        ...{ Id, Names: [`/${Id}-name`], State: 'running', Labels: {}, HostConfig: { NetworkMode: on } },
        NetworkSettings: { Networks },
        ...one,
      });
    },
  };
}
