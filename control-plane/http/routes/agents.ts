/**
 * Requests of agents outside of their connection and of the API: registration, admission to a connection
 * (HOST-1), the secrets of a start (P220), and the credentials for its pull (P232).
 */
import { Hono } from 'hono';
import * as z from 'zod';
import { REGISTER_PATH, registrationSchema } from '../../../shared/protocol/enrolment.ts';
import {
  CREDENTIALS_PATH,
  credentialsAudience,
  SECRETS_PATH,
  secretsAudience,
} from '../../../shared/protocol/secrets.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { OperationError } from '../../core/model/errors.ts';
import type { AddressOf } from '../../guard/address.ts';
import type { BodyReader } from '../../guard/body-reader.ts';
import type { SecretFetches } from '../../guard/secret-fetches.ts';
import { type ProofDeps, readProof } from '../../operations/cluster/agent-proof.ts';
import { registerHost } from '../../operations/cluster/join-tokens.ts';
import type { Context } from '../../operations/context.ts';
import { readCredentials } from '../../operations/secrets/registries.ts';
import { readStartSecrets } from '../../operations/secrets/start-secrets.ts';
import { integerText } from '../json/account-fields.ts';
import { errorResponse, json, toOperationError } from '../json/render.ts';
import { bearerOf, checked, type Env, originOf, queryOf } from '../request.ts';
import type { Statuses } from '../words.ts';

/** Answers to agents are the same in every variant of the API. */
const PLAIN: Statuses = {
  created: 200,
  removed: 200,
  options: 200,
  forbidden: 403,
  statusHeader: false,
  errorBody: true,
};

const startQuery = z.strictObject({ service: integerText, generation: integerText });

/** Errors of these routes have a body, and the same status in every variant. */
export function agentRoutes(
  context: Context & { bodies: BodyReader; variant: Pick<Statuses, 'statusHeader'>; addressOf: AddressOf },
  fetches: SecretFetches,
  failed: (error: unknown) => void,
): Hono<Env> {
  const { statusHeader } = context.variant;
  const routes = new Hono<Env>();
  routes.post(REGISTER_PATH, async (c) => {
    const input = async () => checked(registrationSchema, await context.bodies.json(c), 'body');
    const origin = originOf(c, context.addressOf);
    const joinToken = bearerOf(c.req.header('authorization'));
    return json({ host_id: await registerHost(context, joinToken, input, origin) });
  });
  routes.get(SECRETS_PATH, async (c) => {
    const audience = secretsAudience(context.deploymentName);
    const { hostId } = await readProof({ ...context, audience }, bearerOf(c.req.header('authorization')));
    const key = checked(startQuery, queryOf(c), 'query');
    return json(await fetches.run(hostId, (count) => readStartSecrets(context, hostId, key, count)));
  });
  routes.get(CREDENTIALS_PATH, async (c) => {
    const audience = credentialsAudience(context.deploymentName);
    const { hostId } = await readProof({ ...context, audience }, bearerOf(c.req.header('authorization')));
    const key = checked(startQuery, queryOf(c), 'query');
    const credentials = await fetches.run(hostId, (count) => readCredentials(context, hostId, key, count));
    return json({ credentials });
  });
  routes.onError((error) => refuseAgent(error, failed, { ...PLAIN, statusHeader }));
  return routes;
}

/** Returns the host that connects; throws OperationError if the proof is not valid. */
export const admitAgent = (
  deps: ProofDeps,
  authorization: string | null | undefined,
): Promise<VerifiedProof> => readProof(deps, bearerOf(authorization));

/** The answer to a refused agent; calls `failed` with an error that was not foreseen. */
export function refuseAgent(
  error: unknown,
  failed: (error: unknown) => void,
  statuses: Statuses = PLAIN,
): Response {
  const known = toOperationError(error);
  if (!known || known.cause) failed(known?.cause ?? error);
  return agentRefusal(known, statuses);
}

/** An error with the time, by which an agent detects that its clock is wrong. */
function agentRefusal(error: OperationError | undefined, statuses: Statuses): Response {
  const response = errorResponse(error, statuses);
  response.headers.set('date', new Date().toUTCString());
  return response;
}
