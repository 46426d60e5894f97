/** The endpoints of agents, registration and connection, on loopback before the coordinator of a rig. */
import type { Server } from 'node:http';
import type { OpenLog } from '../../../control-plane/coordinator/coordinator-api.ts';
import { isConnect, serveAgents } from '../../../control-plane/coordinator/runtime/node-sockets.ts';
import { BodyReader } from '../../../control-plane/guard/body-reader.ts';
import { SecretFetches } from '../../../control-plane/guard/secret-fetches.ts';
import { noteBody } from '../../../control-plane/http/idempotency.ts';
import { admitAgent, agentRoutes, refuseAgent } from '../../../control-plane/http/routes/agents.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { httpServer } from '../../../control-plane/server/node-server.ts';
import { WIDE_LIMITS } from '../fixtures/connection-limits.ts';
import { listenOn } from '../hosts/port.ts';
import type { CoordinatorRig } from './coordinator-rig.ts';

/** Calls `answering` before each answer to a registration. */
export async function agentServer(
  rig: CoordinatorRig,
  deploymentName: string,
  answering: (server: Server) => void,
): Promise<Server> {
  const context = {
    ...rig.operations,
    deploymentName,
    variant: variants.B,
    bodies: new BodyReader({
      addressOf: () => '127.0.0.1',
      memoryBytes: 2 ** 25,
      noteBody,
      nowMs: Date.now,
    }),
    addressOf: () => '192.0.2.1',
    openLog: (...args: Parameters<OpenLog>) => rig.logsOf()(...args),
    // A restart replaces the coordinator.
    get coordinator() {
      return rig.coordinator;
    },
  };
  const fetches = new SecretFetches({ secretFetchBytes: 2 ** 25, nowMs: Date.now, log: () => {} });
  const app = agentRoutes(context, fetches, () => {});
  const answer = async (request: Request) => {
    const response = await app.fetch(request);
    answering(server);
    return response;
  };
  const { server } = httpServer(answer, {
    variant: variants.B,
    isUpgrade: isConnect,
    connectionLimits: WIDE_LIMITS,
    trustsProxy: false,
    log: () => {},
  });
  const deps = { db: rig.memory, deploymentName, nowMs: () => Date.now() };
  serveAgents(server, rig.coordinator.agents, {
    maxUnreadBytes: 2 ** 25,
    admit: (authorization) => admitAgent(deps, authorization),
    refusal: (error) => refuseAgent(error, () => {}),
  });
  await listenOn(server);
  return server;
}
