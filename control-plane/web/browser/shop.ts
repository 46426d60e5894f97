/** Owns what the app shop does in the browser: finding by typing, sliders that go with numbers, drafts, and one start a click. */
import { amountOf } from './parts/amount.ts';
import { keepDraft } from './parts/drafts.ts';
import { submitOnce } from './parts/submit-once.ts';

const find = document.querySelector<HTMLInputElement>('#find');
find?.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const category of document.querySelectorAll<HTMLElement>('.category')) {
    let shown = 0;
    for (const offer of category.querySelectorAll<HTMLElement>('.offer')) {
      const text = `${category.querySelector('h2')?.textContent} ${offer.textContent}`.toLowerCase();
      offer.hidden = !words.every((word) => text.includes(word));
      if (!offer.hidden) shown++;
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
// Browsers can't point at a field that is folded away.
form?.addEventListener(
  'invalid',
  ({ target }) => {
    const folded = target instanceof Element ? target.closest('details') : null;
    if (folded) folded.open = true;
  },
  true,
);
