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

/** The agent for a protocol of the client library. Undefined for ssh, which has agents of its own. */
export function agentFor(protocol: string): http.Agent | undefined {
  if (protocol === 'ssh') return undefined;
  const agent = protocol === 'https' ? new https.Agent(OPTIONS) : new http.Agent(OPTIONS);
  const { addRequest } = agent as unknown as RequestAgent;
  const reporting: RequestAgent = {
    addRequest(request, ...rest) {
      reportBreakOff(request);
      addRequest.call(agent, request, ...rest);
    },
  };
  // The client library formats the options of each request for its debug output, agent and sockets included.
  return Object.assign(agent, reporting, { [inspect.custom]: () => agent.constructor.name });
}

function reportBreakOff(request: ClientRequest): void {
  request.once('response', (response) => {
    response.once('close', () => {
      if (!response.complete) request.emit('error', new Error("the engine's answer broke off"));
    });
  });
}
