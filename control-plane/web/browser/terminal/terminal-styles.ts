/**
 * Lets xterm work under the policy of the page, which allows no inline styles. xterm makes <style> elements
 * when it is opened, and sets the attribute `style` of its spans. Sheets and styles that a script sets by the
 * CSSOM are allowed (WEB-16).
 */

/** Runs `open`, which may make <style> elements: each becomes a sheet of the document in its place. */
export function withSheets(open: () => void): void {
  const create = document.createElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name === 'style' ? standIn() : create.call(document, name, options)) as typeof create;
  try {
    open();
  } finally {
    document.createElement = create;
  }
}

/** An element whose text is the text of a sheet. */
function standIn(): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'span') as HTMLElement;
  element.hidden = true;
  Object.defineProperty(element, 'textContent', {
    set: (text: string) => sheet.replaceSync(text),
  });
  return element;
}

/** For all spans of the page: `setAttribute('style', ...)` has the effect that the policy would forbid. */
export function allowStylesOfSpans(): void {
  const { setAttribute } = Element.prototype;
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string): void {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
