/** Adds and removes rows of fields (`data-row`) in the page; without script the server does it. */

/** The buttons are those of the server: `add-...` and `remove-...-N`. */
export function editRows(group: HTMLElement): void {
  group.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (!button) return;
    const row = button.closest<HTMLElement>('[data-row]');
    event.preventDefault();
    if (row) remove(group, row);
    else add(group, button);
    group.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

const rowsOf = (group: HTMLElement) => [...group.querySelectorAll<HTMLElement>('[data-row]')];

function add(group: HTMLElement, button: Element): void {
  const last = rowsOf(group).at(-1);
  if (!last) return;
  const row = emptied(last.cloneNode(true) as HTMLElement);
  button.before(row);
  number(group);
  row.querySelector<HTMLElement>('input')?.focus();
}

/** Removes a row, or empties the last one. */
function remove(group: HTMLElement, row: HTMLElement): void {
  const rows = rowsOf(group);
  const next = rows[rows.indexOf(row) + 1] ?? rows[rows.indexOf(row) - 1];
  if (next) row.remove();
  else emptied(row);
  number(group);
  (next ?? row).querySelector<HTMLElement>('input')?.focus();
}

function emptied(row: HTMLElement): HTMLElement {
  for (const problem of row.querySelectorAll('.problem')) problem.remove();
  for (const control of row.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')) {
    control.removeAttribute('aria-invalid');
    control.removeAttribute('aria-describedby');
    if (control instanceof HTMLInputElement) control.value = '';
    else control.selectedIndex = 0;
  }
  return row;
}

const NUMBERED = ['id', 'name', 'for', 'value', 'aria-describedby'];

/** Renumbers names, ids and labels by position: from 0 in attributes, from 1 in texts. */
function number(group: HTMLElement): void {
  rowsOf(group).forEach((row, at) => {
    row.setAttribute('aria-label', `Port ${at + 1}`);
    for (const element of row.querySelectorAll('label, select, input, button, .problem')) {
      for (const name of NUMBERED) {
        const value = element.getAttribute(name);
        // The value of an input is what the user typed.
        if (value === null || (name === 'value' && !(element instanceof HTMLButtonElement))) continue;
        element.setAttribute(name, value.replaceAll(/-\d+(?=$|-problem)/g, `-${at}`));
      }
    }
    const unseen = row.querySelector('button > .unseen');
    if (unseen) unseen.textContent = ` port ${at + 1}`;
  });
}
