/** Script of the app shop: search, sliders, drafts, and one start per click. */
import { amountOf } from './parts/amount.ts';
import { keepDraft } from './parts/drafts.ts';
import { submitOnce } from './parts/submit-once.ts';

const find = document.querySelector<HTMLInputElement>('#find');
find?.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const category of document.querySelectorAll<HTMLElement>('.category')) {
    let shown = 0;
    for (const item of category.querySelectorAll<HTMLElement>('.shop-item')) {
      const text = `${category.querySelector('h2')?.textContent} ${item.textContent}`.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
      if (!item.hidden) shown++;
    }
    category.hidden = shown === 0;
    found += shown;
  }
  const status = document.querySelector('#found');
  if (status) status.textContent = words.length === 0 ? '' : `${found} found`;
});

const form = document.querySelector<HTMLFormElement>('form.order');

for (const element of document.querySelectorAll('.amount')) {
  const amount = amountOf(element);
  if (!amount) continue;
  element.addEventListener('input', ({ target }) => {
    if (target === amount.slider) amount.followSlider();
    else amount.show();
  });
  // Browsers restore typed text without an event, and so do drafts.
  amount.show();
  form?.addEventListener('berth:restored', () => amount.show());
}

if (form) {
  keepDraft(form);
  submitOnce(form);
}
// Browsers can't focus a field that is folded away.
form?.addEventListener(
  'invalid',
  ({ target }) => {
    const folded = target instanceof Element ? target.closest('details') : null;
    if (folded) folded.open = true;
  },
  true,
);
