/**
 * The editor of descriptions: line numbers, opened or dropped files, and a check while the user types. The
 * server checks and responds with HTML (WEB-5); the script shows it and marks the lines.
 */

const CHECK = '/start/check';
const CHECK_MS = 350;
/** Encoded as a form, such a description has less than 512 KiB. */
const MAX_BYTES = 256 * 1024;

export function editDescription(form: HTMLFormElement, editor: HTMLElement): void {
  const text = editor.querySelector('textarea');
  const gutter = editor.querySelector<HTMLElement>('.gutter');
  const result = form.querySelector<HTMLElement>('#check');
  if (!text || !gutter || !result) return;
  const number = () => numberLines(gutter, text, markedLines(result));
  const checked = () => {
    text.setAttribute('aria-invalid', String(markedLines(result).size > 0));
    number();
  };
  const check = checker(text, result, checked);
  checked();
  text.addEventListener('scroll', () => {
    gutter.scrollTop = text.scrollTop;
  });
  text.addEventListener('input', () => {
    number();
    check();
  });
  form.addEventListener('berth:restored', () => {
    number();
    check();
  });
  result.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-line]') : null;
    if (!link) return;
    event.preventDefault();
    goTo(text, Number(link.dataset.line), Number(link.dataset.column));
  });
  takeFiles(
    form,
    editor,
    (content) => {
      text.value = content;
      text.dispatchEvent(new Event('input', { bubbles: true }));
      text.focus();
      text.setSelectionRange(0, 0);
    },
    (problem) => showSummary(result, problem),
  );
}

const markedLines = (result: HTMLElement): Set<number> =>
  new Set(
    [...result.querySelectorAll<HTMLElement>('[data-line]')].map(({ dataset }) => Number(dataset.line)),
  );

function numberLines(gutter: HTMLElement, text: HTMLTextAreaElement, marked: ReadonlySet<number>): void {
  const lines = text.value.split('\n').length;
  const parts: (Node | string)[] = [];
  let plain = '';
  for (let line = 1; line <= lines; line++) {
    if (!marked.has(line)) {
      plain += `${line}\n`;
      continue;
    }
    const mark = document.createElement('b');
    mark.textContent = String(line);
    parts.push(plain, mark);
    plain = '';
  }
  gutter.replaceChildren(...parts, plain);
  gutter.scrollTop = text.scrollTop;
}

/** Checks the latest text; the response for an earlier text is ignored. */
function checker(text: HTMLTextAreaElement, result: HTMLElement, done: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let request = new AbortController();
  const check = async () => {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const body = new URLSearchParams({ description: text.value });
    try {
      const response = await fetch(CHECK, { method: 'POST', body, signal });
      const answer = await response.text();
      if (response.redirected) showLoggedOut(result);
      else if (!response.ok) showSummary(result, `The description could not be checked: ${reasonIn(answer)}`);
      else show(result, answer);
    } catch {
      if (!signal.aborted)
        showSummary(result, 'The description could not be checked: Berth does not answer.');
    }
    if (!signal.aborted) done();
  };
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => void check(), CHECK_MS);
  };
}

const parsed = (answer: string) => new DOMParser().parseFromString(answer, 'text/html');

/** The message of an error page. */
const reasonIn = (answer: string): string => parsed(answer).querySelector('.empty p')?.textContent ?? '';

/** Reuses the element of the summary, so that screen readers announce its new text. */
function show(result: HTMLElement, answer: string): void {
  const fresh = parsed(answer);
  const summary = fresh.querySelector('#check-summary');
  showSummary(result, summary?.textContent ?? '', summary?.className);
  const list = fresh.querySelector('.problems');
  if (list) result.append(document.importNode(list, true));
}

function showSummary(result: HTMLElement, text: string, className = 'problem'): HTMLElement | null {
  const summary = result.querySelector<HTMLElement>('#check-summary');
  result.querySelector('.problems')?.remove();
  if (!summary) return null;
  summary.className = className;
  if (summary.textContent !== text) summary.textContent = text;
  return summary;
}

function showLoggedOut(result: HTMLElement): void {
  const link = document.createElement('a');
  link.href = `/login?next=${encodeURIComponent('/start?by=description')}`;
  link.textContent = 'log in again';
  showSummary(result, 'Your session has ended. Your draft is kept in this tab: ')?.append(link, '.');
}

/** Selects the rest of the line and scrolls to it, with some lines before it. */
function goTo(text: HTMLTextAreaElement, line: number, column: number): void {
  const lines = text.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((length, one) => length + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(start + column - 1, start + (lines[line - 1]?.length ?? 0));
  const height = Number.parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 4) * height);
}

function takeFiles(
  form: HTMLFormElement,
  editor: HTMLElement,
  take: (content: string) => void,
  refuse: (problem: string) => void,
): void {
  const read = async (file: File) => {
    if (file.size > MAX_BYTES)
      refuse(`${file.name} is larger than 256 KiB. The API takes longer descriptions.`);
    else take((await file.text()).replaceAll('\r\n', '\n'));
  };
  const input = form.querySelector<HTMLInputElement>('#open > input');
  input?.addEventListener('change', () => {
    const [file] = input.files ?? [];
    if (file) void read(file);
    // Selecting the same file again must be a change.
    input.value = '';
  });
  editor.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    editor.classList.add('over');
  });
  editor.addEventListener('dragleave', () => editor.classList.remove('over'));
  editor.addEventListener('drop', (event) => {
    editor.classList.remove('over');
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    void read(file);
  });
}
