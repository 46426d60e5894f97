/** The page of a shop application: its text and the form that starts it. */
import type { Role } from '../../../core/accounts/account.ts';
import type { Allowance } from '../../../core/accounts/quota.ts';
import { mayChange, parametersFor, type ShopEntry } from '../../../core/shop/shop.ts';
import type { Parameter, ParameterProblem } from '../../../core/shop/shop-parameters.ts';
import type { Explanation } from '../../../core/views/explanation.ts';
import { getAllowance } from '../../../operations/accounts/quotas.ts';
import type { ShopOrder } from '../../../operations/shop/shop.ts';
import { allowanceMeters } from '../../components/allowance.ts';
import { forecast } from '../../components/explanation.ts';
import { fieldsOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { unitField } from '../../components/memory-input.ts';
import { page } from '../../components/page.ts';
import { crumbs, draftOf, field, live, restoredNote } from '../../components/pieces.ts';
import type { WebContext, WebDeps } from '../../context.ts';
import {
  amountHint,
  amountInput,
  fieldName,
  fixedAmount,
  isMemory,
  labelOf,
  memoryValue,
  problemText,
  type QuotaLeft,
  quotaLeft,
  quotaLeftText,
  type ShopFields,
} from './shop-amount.ts';

export const shopPath = (id: string): string => `/shop/${encodeURIComponent(id)}`;

/** Problems shown above the form; a request may send any number of fields. */
const MAX_PROBLEMS = 20;

/** The state of the form after a submission. */
export interface Filled {
  /** The fields of the form as they were typed. */
  fields?: ShopFields;
  problems?: readonly ParameterProblem[];
  status?: number;
  explanation?: Explanation;
}

/**
 * Converts the form into an order; `do` is the button. The operation refuses fields of unknown parameters.
 */
export function orderOf(form: URLSearchParams, entry: ShopEntry, role: Role): ShopOrder {
  const { name = '', do: _, ...fields } = fieldsOf(form);
  const parameters = new Map(parametersFor(entry, role).map((one) => [fieldName(one.key), one]));
  const memory = [...parameters].filter(([, parameter]) => isMemory(parameter));
  const units = new Set(memory.map(([field]) => unitField(field)));
  const values = Object.entries(fields)
    .filter(([field]) => !units.has(field))
    .map(([field, text]) => {
      const parameter = parameters.get(field);
      if (parameter && isMemory(parameter)) return [parameter.key, memoryValue(parameter, fields)];
      // Browsers send lines with CR LF.
      return [parameter?.key ?? field, text.replaceAll('\r\n', '\n')];
    });
  return { name, values: Object.fromEntries(values) };
}

export async function entryPage(
  c: WebContext,
  deps: WebDeps,
  entry: ShopEntry,
  filled: Filled,
  readme: Html,
): Promise<Response> {
  // The page can be read without a coordinator.
  const allowance = await getAllowance(deps, c.get('actor')).catch(() => undefined);
  return page(c, {
    title: entry.name,
    status: filled.status ?? (filled.problems ? 400 : 200),
    scripts: ['shop'],
    body: html`
${crumbs([['/shop', 'App shop']], entry.category)}
<div class="bar titled">${logo(entry)}<h1>${entry.name}</h1></div>
<div class="columns">
<div>${outcome(entry, c.get('account').role, filled)}${entryForm(c, entry, filled, allowance)}</div>
<div>
<article class="card readme">${readme}</article>
<section class="card" aria-labelledby="quota"><h2 id="quota">Your quota</h2>${live('allowance', ['execution'], allowance ? allowanceMeters(allowance) : html`<p class="quiet">Not available at the moment.</p>`)}</section>
</div>
</div>`,
  });
}

export const logo = ({ id, name, logo: picture }: ShopEntry): Html =>
  picture
    ? html`<img class="logo" src="${shopPath(id)}/logo" alt="" width="48" height="48">`
    : html`<span class="logo" aria-hidden="true">${[...name][0]}</span>`;

/** Problems that no field can show, and the result of a placement check. */
function outcome(entry: ShopEntry, role: Role, { problems = [], explanation }: Filled): Html | '' {
  const keys = ['name', ...parametersFor(entry, role).map(({ key }) => key)];
  const others = problems.filter(({ parameter }) => parameter === null || !keys.includes(parameter));
  if (problems.length > 0) {
    return html`
<div class="notice failed order" role="alert">
<p>${others.length < problems.length ? 'Nothing was started. Correct the marked fields.' : 'Nothing was started.'}</p>
${others.slice(0, MAX_PROBLEMS).map(({ parameter, message }) => html`<p>${parameter ?? ''} ${message}</p>`)}
</div>`;
  }
  if (!explanation) return '';
  return html`<section class="card order" aria-labelledby="forecast"><h2 id="forecast">Placement check</h2>${forecast(explanation)}</section>`;
}

function entryForm(c: WebContext, entry: ShopEntry, filled: Filled, allowance: Allowance | undefined): Html {
  const { role, user } = c.get('account');
  const quota = allowance ? quotaLeft(allowance) : { memoryBytes: null, cores: null };
  const fields: Fields = (some) =>
    some.map((one) => parameterField(entry, one, filled, mayChange(role, one), quota));
  const [resources, settings] = split(parametersFor(entry, role), ({ kind }) => kind === 'resources');
  return html`
<form class="card order" method="post" action="${shopPath(entry.id)}"${draftOf(`shop=${entry.id}`, user.username, c.req.method === 'GET')}>
${restoredNote}
${field({ name: 'name', label: 'Name of the execution', problems: problemsOf(filled.problems) }, (it) => html`<input ${it} value="${filled.fields?.name ?? entry.application.name}" maxlength="128" required autocomplete="off">`)}
${fields(settings)}
${resources.length > 0 ? resourcesPart(entry, resources, fields, filled, allowance) : ''}
<div class="bar"><button class="primary" name="do" value="submit">Start</button><button name="do" value="explain">Check placement</button></div>
</form>`;
}

type Fields = (parameters: readonly Parameter[]) => Html[];

/** The parameters of the manifest; all others are folded away. */
function resourcesPart(
  { parameters }: ShopEntry,
  resources: readonly Parameter[],
  fields: Fields,
  { problems }: Filled,
  allowance: Allowance | undefined,
): Html {
  const keys = new Set(parameters.map(({ key }) => key));
  const [own, more] = split(resources, ({ key }) => keys.has(key));
  const isWrong = problems?.some(({ parameter }) => more.some(({ key }) => key === parameter));
  const folded = html`
<details${isWrong ? html` open` : ''}><summary>Resources of ${own.length > 0 ? 'the other services' : 'the services'}</summary>${fields(more)}</details>`;
  return html`
<fieldset><legend>Resources</legend>
${allowance ? html`<p class="quiet">${quotaLeftText(allowance)}</p>` : ''}
${fields(own)}
${more.length > 0 ? folded : ''}
</fieldset>`;
}

/** Splits a list into the items that pass a test and the others. */
function split<T>(all: readonly T[], isSo: (one: T) => boolean): [so: T[], others: T[]] {
  const { true: so = [], false: others = [] } = Object.groupBy(all, (one) => (isSo(one) ? 'true' : 'false'));
  return [so, others];
}

const problemsOf = (problems: readonly ParameterProblem[] = []): Record<string, string> =>
  Object.fromEntries(problems.map(({ parameter, message }) => [fieldName(parameter ?? ''), message]));

/** Ends a sentence that others follow. */
const sentence = (text: string): string => (/[^.!?:]$/.test(text) ? `${text}.` : text);

function parameterField(
  entry: ShopEntry,
  parameter: Parameter,
  filled: Filled,
  changeable: boolean,
  quota: QuotaLeft,
): Html {
  const { key, kind, default: standard, description, type } = parameter;
  const { fields = {}, problems = [] } = filled;
  const hints = [
    sentence(description),
    amountHint(entry, parameter, quota),
    changeable ? '' : "Your role can't change this value.",
  ];
  return field(
    {
      name: fieldName(key),
      label: labelOf(parameter),
      hint: hints.filter(Boolean).join(' '),
      problems: problemsOf(problems.map((one) => ({ ...one, message: problemText(parameter, one.message) }))),
    },
    (it) => {
      if (!changeable) return fixedAmount(it, parameter);
      if (type !== 'string') return amountInput(it, { entry, parameter, fields, quota });
      const value = fields[fieldName(key)]?.replaceAll('\r\n', '\n') ?? standard;
      const isLong = kind === 'command' || /\n/.test(value) || value.length > 60;
      return isLong
        ? html`<textarea ${it} rows="3" spellcheck="false">
${value}</textarea>`
        : html`<input ${it} value="${value}" spellcheck="false" autocomplete="off">`;
    },
  );
}
