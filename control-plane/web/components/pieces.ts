/** Owns the pieces that pages are made of, so that one thing looks the same everywhere. Styles: berth.css. */
import { coresText } from '../../core/views/explanation-text.ts';
import { duration } from './duration.ts';
import type { Problems } from './form.ts';
import { type Html, html } from './html.ts';

/** A state as a coloured word; the colour is by the word (berth.css), never the only sign. */
export const badge = (state: string): Html => html`<span class="badge" data-state="${state}">${state}</span>`;

/** How long ago, kept up to date by browser/page.ts; the exact time is in the title and without script. */
export function ago(timeMs: number | null, nowMs: number): Html | '' {
  if (timeMs === null) return '';
  const exact = new Date(timeMs).toISOString();
  return html`<time datetime="${exact}" title="${exact}" data-ago>${duration(nowMs - timeMs)} ago</time>`;
}

/** For how long, as `ago`: it goes on counting. */
export function elapsed(sinceMs: number, nowMs: number): Html {
  const exact = new Date(sinceMs).toISOString();
  return html`<time datetime="${exact}" title="since ${exact}" data-elapsed>${duration(nowMs - sinceMs)}</time>`;
}

/** A moment, to the second; in the time zone of who looks where there is script. */
export function timeOf(timeMs: number): Html {
  const exact = new Date(timeMs).toISOString();
  return html`<time datetime="${exact}" title="${exact}" data-moment>${exact.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** A number of cores without its unit, for texts such as `0.25 of 8 cores`. */
export const coresNumber = (cores: number): string => coresText(cores).replace(/ .*/, '');

/** Part of the page that is fetched again when an event comes that concerns it: kinds, or a kind with an id (`execution:5`). */
export const live = (id: string, topics: readonly string[], body: Html): Html =>
  html`<div id="${id}" data-live="${topics.join(' ')}">${body}</div>`;

/** The pages above this one. */
export const crumbs = (links: readonly (readonly [href: string, text: string])[], here = ''): Html => html`
<nav class="crumbs" aria-label="Breadcrumb">${links.map(([href, text]) => html`<a href="${href}">${text}</a> `)}${here && html`<span>${here}</span>`}</nav>`;

/** `title`, and what can be done about it. */
export const empty = (title: string, body: Html): Html =>
  html`<div class="empty"><h2>${title}</h2>${body}</div>`;

export interface Field {
  name: string;
  label: string;
  /** A sentence below the field. */
  hint?: string | Html | undefined;
  problems?: Problems | undefined;
}

/** A labelled control with its hint and its problem. `control` gets the attributes that tie them together. */
export function field({ name, label, hint, problems }: Field, control: (attributes: Html) => Html): Html {
  const problem = problems?.[name];
  const describedBy = [hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(' ');
  const attributes = html`id="${name}" name="${name}"${describedBy ? html` aria-describedby="${describedBy}"` : ''}${problem ? html` aria-invalid="true"` : ''}`;
  return html`
<div class="field">
<label for="${name}">${label}</label>
${control(attributes)}
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : ''}
${problem ? html`<p class="problem" id="${name}-problem">${problem}</p>` : ''}
</div>`;
}

/** How much of something is taken; `total` 0 means that there is no limit. */
export const meter = (used: number, total: number, text: string): Html => html`
<div class="meter"><progress max="${total || 1}" value="${total ? Math.min(used, total) : 0}" aria-label="${text}"></progress><span>${text}</span></div>`;

/** Names and values, one below the other. */
export const facts = (pairs: readonly (readonly [name: string, value: Html | string | number])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

/** A checkbox with its label beside it; `hint` says what it means. */
export const checkbox = (
  name: string,
  label: string,
  checked: boolean,
  hint = '',
  more: Html | '' = '',
): Html => html`
<div class="field">
<label class="check"><input type="checkbox" id="${name}" name="${name}"${checked ? html` checked` : ''}${hint ? html` aria-describedby="${name}-hint"` : ''}${more}>${label}</label>
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : ''}
</div>`;

/** Choices of a `select`; `chosen` is the value of one of them. */
export const options = (
  choices: readonly (readonly [value: string, text: string])[],
  chosen: string,
): Html[] =>
  choices.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
  ) as Html[];

/** The pages of a section, below the navigation; `path` is where one is. */
export const tabs = (
  label: string,
  links: readonly (readonly [href: string, text: string])[],
  path: string,
): Html => html`
<nav class="tabs" aria-label="${label}"><ul>
${links.map(([href, text]) => html`<li><a href="${href}"${isAt(path, href) ? html` aria-current="page"` : ''}>${text}</a></li>`)}
</ul></nav>`;

const isAt = (path: string, href: string): boolean => path === href || path.startsWith(`${href}/`);

/** Shown by the script (browser/parts/drafts.ts) where it has brought back what was typed. */
export const restoredNote: Html = html`
<p class="notice waits" id="restored" role="status" hidden>Your unsaved draft was restored. <button type="button" class="quiet" id="discard">Discard draft</button></p>`;

/** For that script: which form it is, whose, and whether nothing was sent yet. */
export const draftOf = (kind: string, username: string, fresh: boolean): Html =>
  html` data-draft="${kind}" data-user="${username}"${fresh ? html` data-fresh` : ''}`;

/** What was refused, above the form that it is about. */
export const alert = (text: string | undefined): Html | '' =>
  text ? html`<p class="notice failed" role="alert">${text}</p>` : '';

/** Names by id, to choose from. */
export const namesOf = (all: readonly { id: number; name: string }[]): [id: string, name: string][] =>
  all.map(({ id, name }) => [String(id), name]);

/** What is taken of a limit, of which 0 is none. */
export const share = (used: number, limit: number, text: (amount: number) => string = String): Html =>
  limit === 0 ? html`${text(used)}` : meter(used, limit, `${text(used)} of ${text(limit)}`);
