/**
 * Drafts: what was typed into a form survives an expired session, a reload and a detour (WEB-7). Drafts
 * belong to the tab, the user and the form. Submission removes the draft, and so does another user who logs
 * in.
 */

interface Draft {
  fields: [name: string, value: string][];
  /** A submitted form is not a draft, unless the login page came in between. */
  submitted: boolean;
}

const PREFIX = 'berth:draft:';
const SAVE_MS = 300;

/** `rowsUpTo` adds rows of ports until there are as many as the draft has. */
export function keepDraft(form: HTMLFormElement, rowsUpTo: (count: number) => void = () => {}): void {
  const { user = '', draft: kind = '' } = form.dataset;
  const own = `${PREFIX}${user}:`;
  const key = own + kind;
  for (const other of Object.keys(sessionStorage))
    if (other.startsWith(PREFIX) && !other.startsWith(own)) sessionStorage.removeItem(other);
  const before = form.dataset.fresh === undefined ? undefined : read(key);
  if (before && !isDone(before)) restore(form, before, rowsUpTo);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const save = (submitted: boolean) => {
    clearTimeout(timer);
    timer = undefined;
    write(key, { fields: fieldsOf(form), submitted });
  };
  // A form that is shown again was not submitted, whatever button was pressed.
  if (form.dataset.fresh === undefined) save(false);
  form.addEventListener('input', () => {
    timer ??= setTimeout(() => save(false), SAVE_MS);
  });
  form.addEventListener('submit', ({ submitter }) =>
    save(submitter instanceof HTMLButtonElement && submitter.value === 'submit'),
  );
  addEventListener('pagehide', () => timer !== undefined && save(false));
  form.querySelector('#discard')?.addEventListener('click', () => {
    clearTimeout(timer);
    timer = undefined;
    sessionStorage.removeItem(key);
    location.assign(location.pathname + location.search);
  });
}

/** True if the form was submitted and the page is opened anew, neither by going back nor after a login. */
function isDone({ submitted }: Draft): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (!submitted || navigation?.type === 'back_forward') return false;
  return URL.parse(document.referrer)?.pathname !== '/login';
}

/** Text fields only, without files and buttons. */
const fieldsOf = (form: HTMLFormElement): Draft['fields'] =>
  [...new FormData(form)].filter((field): field is [string, string] => typeof field[1] === 'string');

function restore(form: HTMLFormElement, { fields }: Draft, rowsUpTo: (count: number) => void): void {
  const now = JSON.stringify(fieldsOf(form));
  if (now === JSON.stringify(fields)) return;
  rowsUpTo(fields.filter(([name]) => name.startsWith('port_number-')).length);
  // A newly added row takes the focus, which a restored draft must not.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  for (const [name, value] of fields) {
    const field = form.elements.namedItem(name);
    if (
      field instanceof RadioNodeList ||
      field instanceof HTMLInputElement ||
      field instanceof HTMLSelectElement ||
      field instanceof HTMLTextAreaElement
    )
      field.value = value;
  }
  form.querySelector('#restored')?.removeAttribute('hidden');
  form.dispatchEvent(new Event('berth:restored'));
}

function read(key: string): Draft | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(key) ?? 'null') as Draft | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A draft too large for the browser is dropped; the text stays in the page. */
function write(key: string, draft: Draft): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    sessionStorage.removeItem(key);
  }
}
