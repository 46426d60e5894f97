/** Owns what the list of executions does in the browser besides being live: ticking many, and URLs without empty filters. */

const ticks = () => [...document.querySelectorAll<HTMLInputElement>('input[form="bulk"][name="id"]')];

/** Also after each refresh: executions end, and their ticks go with them. */
function show(): void {
  const all = ticks();
  const ticked = all.filter(({ checked }) => checked).length;
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-ticked]')) {
    button.disabled = ticked === 0;
    button.textContent = ticked === 0 ? 'Terminate ticked' : `Terminate ${ticked} ticked`;
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-tick-all]')) {
    button.hidden = all.length === 0;
    button.textContent = ticked === all.length ? 'Tick none' : 'Tick all';
  }
}

document.addEventListener('change', show);
document.addEventListener('berth:refreshed', show);
// Gone back to, the page has its ticks again.
addEventListener('pageshow', show);
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element) || !target.closest('[data-tick-all]')) return;
  const all = ticks();
  const checked = all.some((tick) => !tick.checked);
  for (const tick of all) tick.checked = checked;
  show();
});

document.addEventListener('formdata', ({ target, formData }) => {
  if (!(target instanceof HTMLFormElement) || !('sparse' in target.dataset)) return;
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
});

show();
