/** Script of the list of executions: selecting many, bulk work, and URLs without empty filters. */

const checkboxes = () => [...document.querySelectorAll<HTMLInputElement>('input[form="bulk"][name="id"]')];

/** What has ended can only be deleted. */
const isFor = ({ dataset }: HTMLInputElement, verb: string) => verb !== 'Terminate' || 'live' in dataset;

/** Runs after each refresh as well: an execution that ends loses its checkbox. */
function update(): void {
  const all = checkboxes();
  const selected = all.filter(({ checked }) => checked).length;
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-selected]')) {
    const verb = button.dataset.selected ?? '';
    const count = all.filter((one) => one.checked && isFor(one, verb)).length;
    button.disabled = count === 0;
    button.textContent = count === 0 ? `${verb} selected` : `${verb} ${count} selected`;
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-select-all]')) {
    button.hidden = all.length === 0;
    button.textContent = selected === all.length ? 'Select none' : 'Select all';
  }
}

document.addEventListener('change', update);
document.addEventListener('berth:refreshed', update);
// A browser restores checkboxes when a user navigates back.
addEventListener('pageshow', update);
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element) || !target.closest('[data-select-all]')) return;
  const all = checkboxes();
  const checked = all.some((one) => !one.checked);
  for (const one of all) one.checked = checked;
  update();
});

// After the confirmation of parts/send.ts.
document.addEventListener('submit', (event) => {
  const verb = event.submitter?.dataset.selected;
  if (verb === undefined || event.defaultPrevented) return;
  for (const one of checkboxes()) one.checked &&= isFor(one, verb);
});

document.addEventListener('formdata', ({ target, formData }) => {
  if (!(target instanceof HTMLFormElement) || !('sparse' in target.dataset)) return;
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
});

update();

/** Between two portions of work on all that match, the page continues by itself. */
const going = document.querySelector<HTMLFormElement>('form[data-continue]');
going?.requestSubmit(going.querySelector('button'));
