/** Script of the page of a service's files: uploads files one after the other, and shows how far each is. */
import { count, memoryText } from '../../core/model/text.ts';
import { byId, setText } from './parts/element.ts';
import { type UploadEnd, uploadFile } from './parts/file-upload.ts';
import { openSocket, refusalOf, sentence } from './parts/service-socket.ts';

/** Files that one press of the button uploads. */
const MAX_FILES = 1_000;
const SHOW_MS = 200;

interface Upload {
  file: File;
  folder: string;
  row: UploadRow;
}

class UploadPage {
  readonly #path: string;
  readonly #list = byId('uploads');
  readonly #input = byId<HTMLInputElement>('files');
  #waiting: Upload[] = [];
  #isBusy = false;
  #uploaded = 0;
  #failed = 0;

  constructor({ dataset }: HTMLElement) {
    this.#path = dataset.path ?? '';
  }

  start(form: HTMLFormElement): void {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#add(byId<HTMLInputElement>('folder').value.trim());
    });
    addEventListener('beforeunload', (event) => {
      if (this.#isBusy) event.preventDefault();
    });
    addEventListener('pagehide', () => {
      for (const row of [...this.#list.children]) row.querySelector('button')?.click();
    });
  }

  #add(folder: string): void {
    const files = [...(this.#input.files ?? [])];
    const problem = problemOf(folder, files.length, this.#waiting.length);
    if (problem !== undefined) {
      this.#show(problem);
      return;
    }
    if (!this.#isBusy) {
      this.#list.replaceChildren();
      [this.#uploaded, this.#failed] = [0, 0];
    }
    // The same file can be chosen again.
    this.#input.value = '';
    const uploads = files.map((file) => ({ file, folder, row: new UploadRow(file) }));
    this.#list.append(...uploads.map(({ row }) => row.element));
    this.#waiting.push(...uploads);
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { file, row, folder } = next;
      const { signal } = row;
      if (signal.aborted) continue;
      this.#show(
        `Uploading. ${this.#waiting.length === 0 ? '' : `${count(this.#waiting.length, 'file')} more.`}`,
      );
      const progressed = (bytes: number) => row.progressed(bytes);
      await this.#ended(row, await uploadFile(openSocket(this.#path), file, { folder, signal, progressed }));
    }
    this.#isBusy = false;
    const failed = this.#failed === 0 ? '' : ` ${count(this.#failed, 'file')} failed.`;
    this.#show(`Uploaded ${count(this.#uploaded, 'file')}.${failed}`);
  }

  async #ended(row: UploadRow, end: UploadEnd): Promise<void> {
    if (end === 'cancelled') return;
    if (typeof end === 'object' && 'exitCode' in end && end.exitCode === 0) {
      this.#uploaded += 1;
      return row.done();
    }
    this.#failed += 1;
    if (end !== 'refused') return row.failed(reasonOf(end));
    const reason = await refusalOf(this.#path, 'upload');
    row.failed(reason);
    // Further ones would be refused for the same reason.
    this.#failed += this.#waiting.length;
    for (const waiting of this.#waiting.splice(0)) waiting.row.failed(reason);
  }

  #show(text: string): void {
    setText(byId('upload-state'), text.trim());
  }
}

function problemOf(folder: string, chosen: number, waiting: number): string | undefined {
  if (!folder.startsWith('/')) return 'The folder must be an absolute path, such as /srv/data.';
  if (chosen === 0) return 'Choose at least one file.';
  if (chosen + waiting <= MAX_FILES) return undefined;
  return `Choose at most ${MAX_FILES} files: berth cp copies whole folders.`;
}

function reasonOf(end: Exclude<UploadEnd, 'refused' | 'cancelled'>): string {
  if (end === 'unreadable') return 'The file could not be read: it has changed, or is gone. Choose it again.';
  if (end === 'lost') return 'The connection to Berth broke off.';
  return 'reason' in end ? sentence(end.reason) : `The copy has failed with exit code ${end.exitCode}.`;
}

/** One file: its name, how far its upload is, and how it ended. */
class UploadRow {
  readonly element = document.createElement('li');
  readonly #file: File;
  readonly #bar = document.createElement('progress');
  readonly #state = document.createElement('span');
  readonly #cancel = document.createElement('button');
  readonly #abort = new AbortController();
  #shownMs = 0;

  constructor(file: File) {
    this.#file = file;
    const name = document.createElement('b');
    name.textContent = file.name;
    this.#state.textContent = `waits, ${memoryText(file.size)}`;
    this.#state.className = 'hint';
    this.#bar.max = Math.max(1, file.size);
    this.#bar.value = 0;
    this.#bar.ariaLabel = `Upload of ${file.name}`;
    Object.assign(this.#cancel, { type: 'button', className: 'quiet', textContent: 'Cancel' });
    this.#cancel.ariaLabel = `Cancel the upload of ${file.name}`;
    this.#cancel.addEventListener('click', () => {
      this.#abort.abort();
      this.#over('cancelled');
    });
    this.element.append(name, this.#cancel, this.#bar, this.#state);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  progressed(bytes: number): void {
    const now = performance.now();
    if (now - this.#shownMs < SHOW_MS) return;
    this.#shownMs = now;
    this.#bar.value = bytes;
    this.#state.textContent = `${memoryText(bytes)} of ${memoryText(this.#file.size)}`;
  }

  done(): void {
    this.#over(`uploaded, ${memoryText(this.#file.size)}`);
  }

  failed(reason: string): void {
    this.#state.className = 'problem';
    this.#over(reason);
  }

  #over(text: string): void {
    const hadFocus = document.activeElement === this.#cancel;
    this.#cancel.remove();
    this.#bar.remove();
    this.#state.textContent = text;
    if (!hadFocus) return;
    this.element.tabIndex = -1;
    this.element.focus();
  }
}

const section = document.getElementById('upload');
const form = section?.querySelector('form');
if (section && form) new UploadPage(section).start(form);
