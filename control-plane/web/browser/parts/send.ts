/**
 * Sends a form only while Berth answers. A browser would show a page of its own instead of an answer, and the
 * page with what was typed, selected or read in it would be gone.
 */

/** A server that hangs keeps the page as well. */
const PATIENCE_MS = 10_000;
/** These work, whatever else is missing (SPEC H411). */
const NEEDS_LITTLE = /^\/(login|logout)\b/;

export function keepPageWhileAway(): void {
  let checked: HTMLFormElement | undefined;
  let isChecking = false;
  // Before all other listeners: they learn of a form only when it is sent.
  addEventListener(
    'submit',
    (event) => {
      const { submitter, target: form } = event;
      if (!(form instanceof HTMLFormElement)) return;
      if (checked === form) {
        checked = undefined;
        return;
      }
      const url = new URL(
        (submitter ?? form).getAttribute('formaction') ?? form.getAttribute('action') ?? '',
        location.href,
      );
      if (url.origin !== location.origin) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isChecking || !isAgreed(submitter)) return;
      isChecking = true;
      void problemOf(form.method === 'get' || NEEDS_LITTLE.test(url.pathname)).then((problem) => {
        isChecking = false;
        show(problem);
        if (problem !== undefined) return;
        checked = form;
        form.requestSubmit(submitter);
        checked = undefined;
      });
    },
    { capture: true },
  );
}

/**
 * `data-confirm` on a button holds the question. A button named `confirmed` reports that the user has agreed.
 */
function isAgreed(submitter: HTMLElement | null): boolean {
  const question = submitter?.dataset.confirm;
  if (question === undefined) return true;
  const agrees = confirm(question);
  if (agrees && submitter instanceof HTMLButtonElement && submitter.name === 'confirmed')
    submitter.value = 'yes';
  return agrees;
}

/** Why nothing is sent now; undefined if Berth answers. */
async function problemOf(needsLittle: boolean): Promise<string | undefined> {
  try {
    const response = await fetch(needsLittle ? '/healthz' : '/readyz', {
      cache: 'no-store',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.ok) return undefined;
    const { message } = (await response.json()) as { message: string };
    return message;
  } catch {
    // Also the answer of a proxy, which is not JSON.
    return "Berth can't be reached.";
  }
}

function show(problem: string | undefined): void {
  const notice = document.getElementById('unsent');
  if (!notice) return;
  notice.hidden = problem === undefined;
  notice.textContent =
    problem === undefined
      ? ''
      : `${problem} Nothing was sent, and this page is as you left it. Try again later.`;
  if (problem !== undefined) notice.scrollIntoView({ block: 'nearest' });
}
