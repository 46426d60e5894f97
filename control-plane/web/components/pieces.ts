/**
 * The pieces of all pages, so that one thing looks the same everywhere. Their styles are in
 * styles/pieces.css.
 */
import { coresText } from '../../core/model/text.ts';
import { duration, remaining } from './duration.ts';
import type { Problems } from './form.ts';
import { type Html, html } from './html.ts';
import { momentText } from './moment.ts';

/** A state as a coloured word. The style picks the colour by the word; colour is never the only sign. */
export const badge = (state: string): Html => html`<span class="badge" data-state="${state}">${state}</span>`;

/** The time since a moment, which browser/page.ts keeps up to date. The tooltip has the exact time. */
export function ago(timeMs: number | null, nowMs: number): Html | '' {
  if (timeMs === null) return '';
  const exact = new Date(timeMs).toISOString();
  return html`<time datetime="${exact}" title="${momentText(timeMs)}" data-ago>${duration(nowMs - timeMs)} ago</time>`;
}

/** The duration since a moment, which browser/page.ts keeps counting. */
export function elapsed(sinceMs: number, nowMs: number): Html {
  const exact = new Date(sinceMs).toISOString();
  return html`<time datetime="${exact}" title="since ${momentText(sinceMs)}" data-elapsed>${duration(nowMs - sinceMs)}</time>`;
}

/** The time until a moment, which browser/page.ts counts down. */
export function until(timeMs: number, nowMs: number): Html {
  const exact = new Date(timeMs).toISOString();
  return html`<time datetime="${exact}" title="${momentText(timeMs)}" data-until>in ${remaining(timeMs - nowMs)}</time>`;
}

/** A moment to the second, in UTC. With script it is in the time zone of the browser, as all moments are. */
export function timeOf(timeMs: number): Html {
  const exact = new Date(timeMs).toISOString();
  return html`<time datetime="${exact}" data-moment>${momentText(timeMs)}</time>`;
}

/** A number of cores without its unit, for texts such as `0.25 of 8 cores`. */
export const coresNumber = (cores: number): string => coresText(cores).replace(/ .*/, '');

/**
 * A part of the page that the script fetches again after events of its topics (WEB-2). A topic is a kind of
 * object, or one object such as `execution:5`.
 */
export const live = (id: string, topics: readonly string[], body: Html): Html =>
  html`<div id="${id}" data-live="${topics.join(' ')}">${body}</div>`;

/** Links to the parent pages. */
export const crumbs = (links: readonly (readonly [href: string, text: string])[], here = ''): Html => html`
<nav class="crumbs" aria-label="Breadcrumb">${links.map(([href, text]) => html`<a href="${href}">${text}</a> `)}${here && html`<span>${here}</span>`}</nav>`;

/** An empty state: `title`, and in `body` what the user can do about it. */
export const empty = (title: string, body: Html): Html =>
  html`<div class="empty"><h2>${title}</h2>${body}</div>`;

export interface Field {
  name: string;
  label: string;
  /** A sentence below the field. */
  hint?: string | Html | undefined;
  problems?: Problems | undefined;
}

/** A labelled control with its hint and its problem. `control` gets the attributes that connect the three. */
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

/** A bar of `used` out of `total`; a `total` of 0 means no limit. */
export const meter = (used: number, total: number, text: string): Html => html`
<div class="meter"><progress max="${total || 1}" value="${total ? Math.min(used, total) : 0}" aria-label="${text}"></progress><span>${text}</span></div>`;

/** A list of names and values. */
export const facts = (pairs: readonly (readonly [name: string, value: Html | string | number])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

/** A checkbox beside its label. */
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

/** The options of a `select`; `chosen` is the value of the selected one. */
export const options = (
  choices: readonly (readonly [value: string, text: string])[],
  chosen: string,
): Html[] =>
  choices.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
  ) as Html[];

/** Links to the pages of a section; `path` is the present page. */
export const tabs = (
  label: string,
  links: readonly (readonly [href: string, text: string])[],
  path: string,
): Html => html`
<nav class="tabs" aria-label="${label}"><ul>
${links.map(([href, text]) => html`<li><a href="${href}"${isAt(path, href) ? html` aria-current="page"` : ''}>${text}</a></li>`)}
</ul></nav>`;

const isAt = (path: string, href: string): boolean => path === href || path.startsWith(`${href}/`);

/** Shown by browser/parts/drafts.ts after it has restored a draft. */
export const restoredNote: Html = html`
<p class="notice waits" id="restored" role="status" hidden>Your unsaved draft was restored. <button type="button" class="quiet" id="discard">Discard draft</button></p>`;

/** Attributes for browser/parts/drafts.ts: the form, its user, and whether nothing was sent yet. */
export const draftOf = (kind: string, username: string, fresh: boolean): Html =>
  html` data-draft="${kind}" data-user="${username}"${fresh ? html` data-fresh` : ''}`;

/** A refusal, above the form that was refused. */
export const alert = (text: string | undefined): Html | '' =>
  text ? html`<p class="notice failed" role="alert">${text}</p>` : '';

/** Options by id. */
export const namesOf = (all: readonly { id: number; name: string }[]): [id: string, name: string][] =>
  all.map(({ id, name }) => [String(id), name]);

/** The use of a limit; a limit of 0 means no limit. */
export const share = (used: number, limit: number, text: (amount: number) => string = String): Html =>
  limit === 0 ? html`${text(used)}` : meter(used, limit, `${text(used)} of ${text(limit)}`);
