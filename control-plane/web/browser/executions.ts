/** Owns what the list of executions does in the browser besides being live: ticking many, and URLs without empty filters. */

const checkboxes = () => [...document.querySelectorAll<HTMLInputElement>('input[form="bulk"][name="id"]')];

/** Also after each refresh: executions end, and their ticks go with them. */
function show(): void {
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

document.addEventListener('change', show);
document.addEventListener('berth:refreshed', show);
// Gone back to, the page has its ticks again.
addEventListener('pageshow', show);
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element) || !target.closest('[data-select-all]')) return;
  const all = checkboxes();
  const checked = all.some((one) => !one.checked);
  for (const one of all) one.checked = checked;
  show();
});

document.addEventListener('formdata', ({ target, formData }) => {
  if (!(target instanceof HTMLFormElement) || !('sparse' in target.dataset)) return;
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
});

show();
