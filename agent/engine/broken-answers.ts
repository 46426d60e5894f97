/**
 * Reports an answer that breaks off, for example because its engine was killed, as an error of its request.
 * The client library (docker-modem 5.0.7) would wait for the rest of such an answer for ever, beyond any
 * timeout. Never affects answers that are read as streams, whose readers see the error themselves.
 */
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import { inspect } from 'node:util';

/** As Node's own default agents. */
const OPTIONS = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 } as const;

/** Node calls this for each request that an agent is to send. Its types omit it. */
interface RequestAgent {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

/** One pool of connections for all clients of engines, by the client library's protocol. */
const agents: Partial<Record<string, http.Agent>> = {
  http: reporting(new http.Agent(OPTIONS)),
  https: reporting(new https.Agent(OPTIONS)),
};

/** The agent for a protocol of the client library. Undefined for ssh, which has agents of its own. */
export const agentFor = (protocol: string): http.Agent | undefined => agents[protocol];

function reporting(agent: http.Agent): http.Agent {
  const { addRequest } = agent as unknown as RequestAgent;
  const added: RequestAgent = {
    addRequest(request, ...rest) {
      reportBreakOff(request);
      addRequest.call(agent, request, ...rest);
    },
  };
  // The client library formats the options of each request for its debug output, agent and sockets included.
  return Object.assign(agent, added, { [inspect.custom]: () => agent.constructor.name });
}

function reportBreakOff(request: ClientRequest): void {
  request.once('response', (response) => {
    response.once('close', () => {
      if (!response.complete) request.emit('error', new Error("the engine's answer broke off"));
    });
  });
}
