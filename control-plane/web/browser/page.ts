/** Script of every page: durations that count, copying, sending forms, and live updates. */
import { duration, remaining } from '../components/duration.ts';
import { keepLive } from './parts/live.ts';
import { localText } from './parts/local-time.ts';
import { keepPageWhileAway } from './parts/send.ts';

const TICK_MS = 1_000;

function showTimes(): void {
  for (const time of document.querySelectorAll<HTMLTimeElement>('time:is([data-ago], [data-elapsed])')) {
    const passed = duration(Date.now() - Date.parse(time.dateTime));
    const moment = localText(Date.parse(time.dateTime));
    const isAgo = 'ago' in time.dataset;
    const [text, title] = isAgo ? [`${passed} ago`, moment] : [passed, `since ${moment}`];
    if (time.textContent !== text) time.textContent = text;
    if (time.title !== title) time.title = title;
  }
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-until]')) {
    const momentMs = Date.parse(time.dateTime);
    const [text, title] = [`in ${remaining(momentMs - Date.now())}`, localText(momentMs)];
    if (time.textContent !== text) time.textContent = text;
    if (time.title !== title) time.title = title;
  }
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-moment]')) {
    const text = localText(Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

showTimes();
setInterval(showTimes, TICK_MS);
document.addEventListener('berth:refreshed', showTimes);

/** `data-copy` on a button holds the id of the element to copy. */
document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('[data-copy]') : null;
  const source = document.getElementById(button?.dataset.copy ?? '');
  if (!button || !source || button.dataset.copied !== undefined) return;
  await copy(source);
  const before = button.textContent;
  button.dataset.copied = '';
  button.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = before;
    delete button.dataset.copied;
  }, 1_500);
});

async function copy(source: HTMLElement): Promise<void> {
  const text = source instanceof HTMLInputElement ? source.value : source.textContent;
  // Pages over plain http from another machine have no clipboard API, but can copy a selection.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  if (source instanceof HTMLInputElement) source.select();
  else getSelection()?.selectAllChildren(source);
  document.execCommand('copy');
}

keepPageWhileAway();
keepLive();
