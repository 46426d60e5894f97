/** Script of the list of executions: selecting many, and URLs without empty filters. */

const checkboxes = () => [...document.querySelectorAll<HTMLInputElement>('input[form="bulk"][name="id"]')];

/** Runs after each refresh as well: an execution that ends loses its checkbox. */
function update(): void {
  const all = checkboxes();
  const selected = all.filter(({ checked }) => checked).length;
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-selected]')) {
    button.disabled = selected === 0;
    button.textContent = selected === 0 ? 'Terminate selected' : `Terminate ${selected} selected`;
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

document.addEventListener('formdata', ({ target, formData }) => {
  if (!(target instanceof HTMLFormElement) || !('sparse' in target.dataset)) return;
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
});

update();
