/** Owns that one press submits once. */

/** A second press while the first is on its way does nothing. */
export function submitOnce(form: HTMLFormElement): void {
  const enable = (enabled: boolean) => {
    for (const control of form.elements)
      if (control instanceof HTMLButtonElement) control.disabled = !enabled;
  };
  form.addEventListener('submit', (event) => {
    if (event.defaultPrevented) return;
    // Not before the form is read: a button that is disabled is not sent.
    setTimeout(() => enable(false));
  });
  // Also where the page comes back as it was, by the way back.
  addEventListener('pageshow', () => enable(true));
}
