/**
 * The start page: a form for one container, or a full description. It checks, explains the placement, and
 * submits. One form posts everything; its `action` is the button.
 */
import { Hono } from 'hono';
import { type Steps, TURN_UNITS } from '../../../../shared/steps.ts';
import { OperationError } from '../../../core/model/errors.ts';
import type { ExecutionView } from '../../../core/views/execution-views.ts';
import { getAllowance } from '../../../operations/accounts/quotas.ts';
import { explainApplication, submitExecution } from '../../../operations/executions/executions.ts';
import { getExecution } from '../../../operations/executions/reads.ts';
import type { SubmissionInput } from '../../../operations/executions/submission-input.ts';
import { descriptionReview, isOfAnother } from '../../components/description-review.ts';
import { descriptionFormOf, formOf, nameIn } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { redirectWith } from '../../components/notice.ts';
import { HEADERS, page } from '../../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import {
  type CheckedText,
  checkDraft,
  type Draft,
  type Submittable,
  textSteps,
} from '../../description/draft.ts';
import { indentSteps } from '../../description/indented.ts';
import {
  checkSimple,
  EMPTY_PORT,
  FRESH,
  readSimple,
  type SimpleApplication,
} from '../../description/simple-application.ts';
import { simpleFrom } from '../../description/simple-from.ts';
import { templates } from '../../description/templates.ts';
import { statusOf } from '../../error-page.ts';
import { checkedText, type DescriptionForm, descriptionForm } from './start-description.ts';
import { type SimpleForm, simpleForm } from './start-form.ts';
import { formatPage } from './start-format.ts';
import { type FormPlace, type Outcome, startBody } from './start-frame.ts';

export function startPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const isDescription = c.req.query('by') === 'description';
    const before = await earlier(deps, c);
    if (!before)
      return isDescription
        ? describedPage(deps, c, { draft: { name: '', description: '' } })
        : simplePage(deps, c, { simple: FRESH });
    const { name, description } = before;
    const simple = isDescription ? undefined : simpleFrom(name, description);
    if (simple) return simplePage(deps, c, { simple });
    const indented = await c.get('bodies').work(c, description.length, indentSteps(description));
    return describedPage(deps, c, { draft: { name, description: indented } });
  });
  routes.get('/format', formatPage);
  routes.post('/check', async (c) => {
    const form = await descriptionFormOf(c);
    const description = form.get('description') ?? '';
    const checked = await checkedBy(c, description);
    return c.body((await checkedText(description, checked)).toString(), 200, HEADERS);
  });
  routes.post('/', async (c) => {
    if (c.req.query('by') !== 'description') {
      const form = await formOf(c);
      return handleSimple(deps, c, readSimple(form), actionOf(form));
    }
    const form = await descriptionFormOf(c);
    const draft = { name: nameIn(form), description: form.get('description') ?? '' };
    return handleDraft(deps, c, draft, actionOf(form));
  });
  return routes;
}

const actionOf = (form: URLSearchParams): string => form.get('action') ?? 'explain';

/** What the user begins with, if anything: an earlier execution, or a template. */
async function earlier(deps: WebDeps, c: WebContext): Promise<Draft | undefined> {
  const { from, template } = c.req.query();
  if (from !== undefined) return earlierExecution(deps, c, from);
  if (template === undefined) return undefined;
  const found = templates.find(({ id }) => id === template);
  if (!found) throw new OperationError('not-found', 'There is no such template.');
  return { name: found.application.name, description: JSON.stringify(found.application) };
}

async function earlierExecution(deps: WebDeps, c: WebContext, from: string): Promise<ExecutionView> {
  if (!/^\d{1,15}$/.test(from)) throw new OperationError('not-found', 'There is no such execution.');
  return getExecution(deps, c.get('actor'), Number(from));
}

/** What the description of another user would get. Undefined for one's own, and if it is gone. */
async function reviewOfSource(deps: WebDeps, c: WebContext): Promise<Html | undefined> {
  const { from } = c.req.query();
  if (from === undefined) return undefined;
  const execution = await earlierExecution(deps, c, from).catch((error: unknown) => {
    if (error instanceof OperationError) return undefined;
    throw error;
  });
  if (!execution || !isOfAnother(c, execution)) return undefined;
  const { id, userName } = execution;
  return html`
<section class="notice waits" aria-labelledby="review-title">
<h2 id="review-title">${userName} has described this, not you</h2>
<p>Start it only if you trust ${userName} with what it gets from you. This is execution ${id} as it was submitted:</p>
${descriptionReview(execution)}
</section>`;
}

/** The parameter of the URL that names it. */
function sourceOf(c: WebContext): string | undefined {
  const { from = '', template = '' } = c.req.query();
  if (/^\d{1,15}$/.test(from)) return `from=${from}`;
  return templates.some(({ id }) => id === template) ? `template=${template}` : undefined;
}

const checkedBy = (c: WebContext, description: string): Promise<CheckedText> =>
  c.get('bodies').work(c, description.length, textSteps(description));

async function handleDraft(deps: WebDeps, c: WebContext, draft: Draft, action: string): Promise<Response> {
  const checked = await checkedBy(c, draft.description);
  const { body, problems } = checkDraft(draft.name, checked);
  if (!body) return describedPage(deps, c, { draft, checked, problems, outcome: { status: 400 } });
  const outcome = await act(deps, c, body, action, draft.description.length);
  return outcome instanceof Response ? outcome : describedPage(deps, c, { draft, checked, outcome });
}

async function handleSimple(
  deps: WebDeps,
  c: WebContext,
  simple: SimpleApplication,
  action: string,
): Promise<Response> {
  const [, change, row] = /^(add-port|remove-port)(?:-(\d+))?$/.exec(action) ?? [];
  if (change) {
    const { ports } = simple;
    const changed =
      change === 'add-port' ? [...ports, EMPTY_PORT] : ports.filter((_, at) => at !== Number(row));
    return simplePage(deps, c, { simple: { ...simple, ports: changed } });
  }
  const { body, problems } = checkSimple(simple);
  if (!body) return simplePage(deps, c, { simple, problems, outcome: { status: 400 } });
  if (action === 'describe') {
    const description = JSON.stringify(body.application, null, 2);
    return describedPage(deps, c, { draft: { name: body.name, description } });
  }
  const outcome = await act(deps, c, body, action);
  return outcome instanceof Response ? outcome : simplePage(deps, c, { simple, outcome });
}

/** A submission of what the page has checked already, in the steps of one that was not. */
function* checkedSteps({ name, application, value }: Submittable): Steps<SubmissionInput> {
  yield TURN_UNITS;
  return { name, application, description: JSON.stringify(value) };
}

/** Submits and leaves the page, or explains the placement. */
async function act(
  deps: WebDeps,
  c: WebContext,
  body: Submittable,
  action: string,
  length = 0,
): Promise<Response | Outcome> {
  const actor = c.get('actor');
  try {
    const input = () => c.get('bodies').work(c, length, checkedSteps(body));
    if (action !== 'submit') return { forecast: await explainApplication(deps, actor, input) };
    const { id } = await submitExecution(deps, actor, input, deps.overQuota);
    return redirectWith(c, `/executions/${id}`, {
      kind: 'done',
      text: `${body.name} was submitted as execution ${id}.`,
    });
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    if (error.cause) deps.failed(c.req.path, error.cause);
    return { error, status: statusOf(error) };
  }
}

type Shown<T> = T & { outcome?: Outcome };

type Described = Omit<DescriptionForm, 'checked'> & Partial<DescriptionForm>;

async function describedPage(deps: WebDeps, c: WebContext, { outcome = {}, ...shown }: Shown<Described>) {
  const checked = shown.checked ?? (await checkedBy(c, shown.draft.description));
  const isSent = c.req.method === 'POST';
  return startPage(deps, c, 'description', outcome, (place) =>
    descriptionForm(place, { ...shown, checked, isSent }),
  );
}

const simplePage = (deps: WebDeps, c: WebContext, { outcome = {}, ...shown }: Shown<SimpleForm>) =>
  startPage(deps, c, 'form', outcome, (place) => simpleForm(place, shown));

async function startPage(
  deps: WebDeps,
  c: WebContext,
  by: FormPlace['by'],
  outcome: Outcome,
  formAt: (place: FormPlace) => Html,
): Promise<Response> {
  const { username } = c.get('account').user;
  const source = sourceOf(c);
  const form = formAt({ by, source, fresh: c.req.method === 'GET', username, docsPath: deps.docsPath });
  // The form must remain usable while the quota can't be read.
  const [allowance, review] = await Promise.all([
    getAllowance(deps, c.get('actor')).catch(() => undefined),
    reviewOfSource(deps, c),
  ]);
  return page(c, {
    title: 'New execution',
    status: outcome.status ?? 200,
    scripts: ['start'],
    body: startBody({ by, source, form, outcome, allowance, review }),
  });
}
