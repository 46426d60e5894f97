/** Script of the start page: the editor, rows of ports, drafts, and one submission per press. */
import { keepDraft } from './parts/drafts.ts';
import { editDescription } from './parts/editor.ts';
import { editRows } from './parts/rows.ts';
import { submitOnce } from './parts/submit-once.ts';

const form = document.querySelector<HTMLFormElement>('form#start');
if (form) {
  const editor = form.querySelector<HTMLElement>('.editor');
  if (editor) editDescription(form, editor);
  const rows = form.querySelector<HTMLElement>('#ports');
  if (rows) editRows(rows);
  keepDraft(form, (count) => rows && rowsUpTo(rows, count));
  submitOnce(form);
}

function rowsUpTo(rows: HTMLElement, count: number): void {
  while (rows.querySelectorAll('[data-row]').length < count)
    rows.querySelector<HTMLButtonElement>('button[value="add-port"]')?.click();
}
