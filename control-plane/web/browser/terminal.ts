/** Script of a terminal page: connects the terminal with a shell in the service, and shows how it ended. */
import { byId, setText } from './parts/element.ts';
import { Reconnection } from './parts/reconnection.ts';
import { openSocket, refusalOf, sentence } from './parts/service-socket.ts';
import { ServiceStream, type StreamEnd } from './parts/service-stream.ts';
import { TerminalScreen } from './terminal/terminal-screen.ts';

const SHELL = ['sh', '-c', 'command -v bash >/dev/null && exec bash || exec sh'];
/** Whether output is read aloud, for all terminals in this browser. */
const READ_ALOUD = 'berth:terminal:read-aloud';

class TerminalPage {
  readonly #path: string;
  readonly #screen: TerminalScreen;
  #stream: ServiceStream | undefined;
  #isOpened = false;
  #hasTyped = false;
  readonly #reconnection = new Reconnection({
    connect: () => this.#stream?.resume(openSocket(this.#path)),
    abandon: () => this.#stream?.drop(),
    gaveUp: () => void this.#gaveUp(),
  });

  constructor({ dataset }: HTMLElement) {
    this.#path = dataset.path ?? '';
    this.#screen = new TerminalScreen(byId('shell-place'), {
      input: (bytes) => this.#input(bytes),
      resized: (size) => this.#stream?.resize(size),
      left: () => byId('shell-reader').focus(),
    });
  }

  start(isOwnVisit: boolean): void {
    byId('shell-connect').addEventListener('click', () => this.#connect());
    const reader = byId<HTMLInputElement>('shell-reader');
    reader.checked = localStorage.getItem(READ_ALOUD) !== null;
    this.#screen.readAloud(reader.checked);
    reader.addEventListener('change', () => {
      if (reader.checked) localStorage.setItem(READ_ALOUD, '');
      else localStorage.removeItem(READ_ALOUD);
      this.#screen.readAloud(reader.checked);
    });
    addEventListener('pagehide', () => {
      this.#stream?.close();
      this.#over('The command was ended, because you left the page.');
    });
    // Ctrl-W closes a word in a shell, but a tab in a browser.
    addEventListener('beforeunload', (event) => {
      if (this.#stream && this.#hasTyped) event.preventDefault();
    });
    if (isOwnVisit) this.#connect();
    else this.#over('Press Connect to open a shell.', 'Connect');
  }

  #connect(): void {
    if (this.#stream) return;
    this.#isOpened = false;
    this.#hasTyped = false;
    this.#show('Connecting.');
    const button = byId<HTMLButtonElement>('shell-connect');
    button.disabled = true;
    const opening = { type: 'exec' as const, words: SHELL, terminal: this.#screen.size, resume: true };
    this.#screen.begin();
    this.#stream = new ServiceStream(openSocket(this.#path), opening, {
      opened: () => {
        this.#isOpened = true;
        this.#connected();
      },
      lost: () => {
        this.#show('Connection lost. Reconnecting…');
        this.#reconnection.lost();
      },
      resumed: () => this.#connected(),
      output: (bytes, used) => this.#screen.write(bytes, used),
      ended: (end) => void this.#ended(end),
    });
  }

  #connected(): void {
    this.#reconnection.connected();
    this.#show('Connected.');
    // The window may have changed meanwhile.
    this.#stream?.resize(this.#screen.size);
  }

  async #gaveUp(): Promise<void> {
    const text = 'The connection was lost for two minutes, and the command was ended.';
    this.#stream?.close();
    this.#over(text);
    const reason = await refusalOf(this.#path, 'terminal');
    if (!this.#stream) this.#show(`${text} ${reason}`);
  }

  #input(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#stream) return;
    this.#hasTyped = true;
    if (!this.#stream.write(bytes))
      this.#show(
        'Input was dropped: the program reads nothing, and 1 MiB waits already. Use berth cp for files.',
      );
  }

  async #ended(end: StreamEnd): Promise<void> {
    if (end === 'refused') this.#over(await refusalOf(this.#path, 'terminal'));
    else if (end === 'lost') this.#over('The connection to Berth broke off, and the command was ended.');
    else if ('reason' in end)
      this.#over(
        `The ${this.#isOpened ? 'command was ended' : 'terminal was refused'}. ${sentence(end.reason)}`,
      );
    else this.#over(`The command has ended with exit code ${end.exitCode}.`);
  }

  #over(text: string, action = 'Connect again'): void {
    this.#stream = undefined;
    this.#reconnection.stop();
    this.#screen.disable();
    this.#show(text);
    const button = byId<HTMLButtonElement>('shell-connect');
    button.disabled = false;
    setText(button, action);
  }

  #show(text: string): void {
    setText(byId('shell-state'), text);
  }
}

const section = document.getElementById('shell');
if (section) new TerminalPage(section).start(section.dataset.start !== undefined);
