/** What the pages of a service, such as its terminal and its files, have in common. */
import { OperationError } from '../../../core/model/errors.ts';
import type { ServiceView } from '../../../core/views/execution-views.ts';
import { pathId } from '../../../http/request.ts';
import { getExecution } from '../../../operations/executions/reads.ts';
import { getService } from '../../../operations/executions/services.ts';
import { whyNoStream } from '../../../operations/executions/streams.ts';
import type { Html } from '../../components/html.ts';
import { crumbs } from '../../components/pieces.ts';
import type { WebContext, WebDeps } from '../../context.ts';

export interface ServicePage {
  executionId: number;
  executionName: string;
  service: ServiceView;
  /** Why the user can't open streams to the service now; undefined if nothing is in the way. */
  problem: string | undefined;
  /** The page is fetched again, after an event. */
  isRefresh: boolean;
}

/** Reads the service that the path names. Throws OperationError, also if it is of another execution. */
export async function readServicePage(c: WebContext, deps: WebDeps): Promise<ServicePage> {
  const [actor, executionId] = [c.get('actor'), pathId(c, 'id')];
  const { name: executionName } = await getExecution(deps, actor, executionId);
  const service = await getService(deps, actor, pathId(c, 'service'));
  if (service.executionId !== executionId) throw new OperationError('not-found', 'There is no such service.');
  const problem = whyNoStream(actor, service);
  const isRefresh = c.req.header('berth-refresh') !== undefined;
  return { executionId, executionName, service, problem, isRefresh };
}

export const serviceCrumbs = ({ executionId, executionName }: ServicePage): Html =>
  crumbs([
    ['/executions', 'Executions'],
    [`/executions/${executionId}`, executionName],
  ]);
