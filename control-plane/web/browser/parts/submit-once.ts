/** Prevents double submission of a form. */

/** Ignores further presses while the first is on its way. */
export function submitOnce(form: HTMLFormElement): void {
  const enable = (enabled: boolean) => {
    for (const control of form.elements)
      if (control instanceof HTMLButtonElement) control.disabled = !enabled;
  };
  form.addEventListener('submit', (event) => {
    if (event.defaultPrevented) return;
    // After the form has been read, because disabled buttons are not sent.
    setTimeout(() => enable(false));
  });
  // A browser may show the same page again when the user navigates back.
  addEventListener('pageshow', () => enable(true));
}
