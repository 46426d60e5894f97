/** Use of web applications: who may reach which port of a service, and what an application waits for. */
import { type Actor, authorise, type KnownActor } from '../../core/accounts/account.ts';
import { isWebPort, sharedWithUsers } from '../../core/apps/app-address.ts';
import type { AppName } from '../../core/apps/app-site.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { ServiceView } from '../../core/views/execution-views.ts';
import { LONG_READ } from '../../guard/read-turns.ts';
import { findService, findShortService } from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';
import { explainExecution } from '../executions/executions.ts';

/** A web application that the account may use. */
export interface UsableApp {
  account: KnownActor;
  service: ServiceView;
  /** Whether the account may use it only because everybody who is logged in may. */
  shared: boolean;
}

type Found = ReturnType<typeof findShortService>;

/** Begins to read the service of an application, for `usableApp`. */
export const findApp = ({ db }: Pick<Context, 'db'>, { serviceId }: AppName): Found =>
  findShortService(db, serviceId, LONG_READ);

/**
 * Throws `not-found` if there is no such application, and in the same words if the account may not use it.
 * `finding`: a read that has begun.
 */
export async function usableApp(
  context: Context,
  actor: Actor,
  name: AppName,
  finding = findApp(context, name),
): Promise<UsableApp> {
  const account = authorise(actor, { kind: 'login' });
  const { port, serviceId } = name;
  const service = await readService(context, account, serviceId, finding);
  if (!service || !hasApp(service, port)) throw noSuchApp();
  const ownerId = service.userId;
  try {
    authorise(account, { kind: 'use-app', ownerId, shared: false });
    return { account, service, shared: false };
  } catch (error) {
    if (!(error instanceof OperationError) || error.code !== 'not-found') throw error;
  }
  if (!sharedWithUsers(service)) throw noSuchApp();
  authorise(account, { kind: 'use-app', ownerId, shared: true });
  return { account, service, shared: true };
}

async function readService(
  { db, turns }: Pick<Context, 'db' | 'turns'>,
  { user }: KnownActor,
  id: number,
  finding: Found,
): Promise<ServiceView | undefined> {
  const found = await finding;
  if (!found || !('isLong' in found)) return found;
  return turns.run(
    user.id,
    () => findService(db, id),
    () => LONG_READ,
  );
}

/**
 * Whether there is an application at the name, and its execution has not ended. For programs that get
 * certificates on demand; needs no account, and says nothing else.
 */
export async function isLiveApp({ db }: Pick<Context, 'db'>, { port, serviceId }: AppName): Promise<boolean> {
  const found = await findShortService(db, serviceId, LONG_READ);
  if (!found) return false;
  // A long description is not read for a stranger.
  return 'isLong' in found ? true : hasApp(found, port) && !hasEnded(found);
}

const hasApp = ({ description }: Pick<ServiceView, 'description'>, port: number): boolean =>
  description.ports.some((one) => one.port_number === port && isWebPort(one));

export const hasEnded = ({ execution }: Pick<ServiceView, 'execution'>): boolean =>
  execution.status === 'terminated' || execution.status === 'error';

/** Sentences for the user who opens an application that is not up. */
export async function whatItWaitsFor(
  context: Context,
  { account, service }: UsableApp,
  problem?: string,
): Promise<string[]> {
  if (service.execution.status === 'queued') return whyQueued(context, account, service);
  if (service.status === 'starting') {
    const [progress = ''] = await context.coordinator.progress([service.id]).catch(ifUnavailable([]));
    return ['The application is starting.', ...(progress === '' ? [] : [progress])];
  }
  if (service.status === 'terminating') return ['The application is being stopped.'];
  if (service.status === 'active')
    return ['The application runs, and does not answer yet.', ...(problem === undefined ? [] : [problem])];
  return ['The application is not running at the moment.'];
}

/** Users who may not read the execution get no details. */
async function whyQueued(
  context: Context,
  account: KnownActor,
  { executionId }: ServiceView,
): Promise<string[]> {
  try {
    const { summary, waitingFor } = await explainExecution(context, account, executionId);
    return [summary, ...waitingFor];
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return ['The application waits in the queue.'];
  }
}

const ifUnavailable =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (error instanceof OperationError && error.code === 'unavailable') return instead;
    throw error;
  };

export const noSuchApp = () => new OperationError('not-found', 'There is no such application.');
