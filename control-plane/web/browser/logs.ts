/** Script of a log page: connects feed, rows, search and view, and shows the state of the log. */
import type { LogNote } from '../../../shared/streams/log-frames.ts';
import { LogFeed } from './logs/log-feed.ts';
import { LogLines } from './logs/log-line.ts';
import { LogRows } from './logs/log-rows.ts';
import { LogSearchBar } from './logs/log-search-bar.ts';
import { LogView } from './logs/log-view.ts';
import { byId, setText } from './parts/element.ts';

/** Bytes of output. With its rendering, the page stays below 300 MB. */
const MAX_BYTES = 128 * 2 ** 20;
/** A service that has been silent for this long no longer delays lines of other services. */
const QUIET_MS = 250;
const TICK_MS = 200;

interface Service {
  id: number;
  name: string;
}

class LogPage {
  readonly #services: readonly Service[];
  readonly #rows: LogRows;
  readonly #lines: LogLines;
  readonly #search: LogSearchBar;
  readonly #view: LogView;
  readonly #feed: LogFeed;
  /** When each service counts as silent. */
  readonly #quietFromMs: number[];
  /** Services without output since the page has connected. It may come late, and belong before other rows. */
  readonly #silent = new Set<number>();
  readonly #generations: number[];
  readonly #ended = new Set<number>();
  readonly #missing = new Set<number>();
  readonly #problems = new Map<number, string>();
  /** The end of the rows that are shown while the page is paused. */
  #pausedAt: number | undefined;
  #resumed: (() => void) | undefined;
  #isLost = false;
  #isGone = false;

  constructor(section: HTMLElement) {
    const { execution = '', services = '[]' } = section.dataset;
    this.#services = JSON.parse(services) as Service[];
    this.#quietFromMs = this.#services.map(() => Number.POSITIVE_INFINITY);
    this.#generations = this.#services.map(() => 0);
    this.#rows = new LogRows(this.#services.length, MAX_BYTES);
    this.#lines = new LogLines(
      this.#rows,
      this.#services.map(({ name }) => name),
    );
    this.#view = new LogView(byId('log-scroller'), this.#source(), () => this.#showState());
    this.#search = new LogSearchBar(this.#rows, {
      changed: () => this.#view.redraw(),
      show: (row) => this.#show(row),
      left: () => byId('log-scroller').focus(),
    });
    this.#feed = new LogFeed(
      `/executions/${execution}/logs/stream`,
      this.#services.map(({ id }) => id),
      {
        output: (service, generation, bytes) => this.#output(service, generation, bytes),
        note: (service, note) => this.#note(service, note),
        connected: () => this.#connected(true),
        lost: () => this.#connected(false),
        gone: () => {
          this.#isGone = true;
        },
        loggedOut: () => location.reload(),
        space: () => this.#space(),
      },
    );
  }

  start(): void {
    this.#controls();
    setInterval(() => this.#tick(), TICK_MS);
    void this.#feed.start();
    // A hidden page needs no connection, and browsers allow few. The feed later continues without a gap.
    addEventListener('pagehide', () => void this.#feed.stop());
    addEventListener('pageshow', () => void this.#feed.start());
    document.addEventListener('visibilitychange', () => {
      void (document.hidden ? this.#feed.stop() : this.#feed.stop().then(() => this.#feed.start()));
    });
  }

  #source() {
    const rows = this.#rows;
    const end = () => this.#pausedAt ?? rows.end;
    return {
      get first() {
        return rows.first;
      },
      get end() {
        return Math.max(rows.first, end());
      },
      size: (row: number) => this.#lines.size(row),
      element: (row: number) => {
        const element = this.#lines.element(
          row,
          (text) => this.#search.rangesIn(text),
          () => this.#view.redraw(),
        );
        element.classList.toggle('current', row === this.#search.current);
        return element;
      },
    };
  }

  #output(service: number, generation: number, bytes: Uint8Array): void {
    const source = this.#services.findIndex(({ id }) => id === service);
    const store = this.#rows.stores[source];
    if (!store) return;
    // Each start begins a new line.
    if (this.#generations[source] !== generation) store.endLine();
    this.#generations[source] = generation;
    this.#quietFromMs[source] = performance.now() + QUIET_MS;
    this.#problems.delete(service);
    const last = this.#rows.end - 1;
    store.append(bytes);
    this.#search.again(last);
    if (this.#silent.delete(source) && this.#rows.isLate(source)) this.#reorder();
    this.#release();
    // Redraws even if only the last line has grown.
    this.#view.changed();
  }

  #reorder(): void {
    this.#rows.reorder();
    this.#search.restart();
    this.#view.redraw();
  }

  #release(): void {
    const before = this.#rows.end;
    const nowMs = performance.now();
    this.#rows.release(
      (source) =>
        this.#ended.has(this.#services[source]?.id ?? 0) || nowMs > (this.#quietFromMs[source] ?? 0),
    );
    if (this.#pausedAt === undefined) this.#rows.trim();
    if (this.#rows.end > before) this.#view.changed();
    if (before === 0 && this.#rows.end > 0) this.#showState();
  }

  #note(service: number, note: LogNote): void {
    if ('ended' in note) this.#ended.add(service);
    if ('missing' in note) this.#missing.add(service);
    if ('trouble' in note) this.#problems.set(service, note.trouble);
    this.#release();
  }

  #connected(isConnected: boolean): void {
    this.#isLost = !isConnected;
    if (!isConnected) return;
    this.#problems.clear();
    this.#quietFromMs.fill(performance.now() + QUIET_MS);
    for (const source of this.#services.keys()) this.#silent.add(source);
  }

  /**
   * While paused, output is kept until the memory limit is reached; then the subscription stalls and output
   * stays on the host.
   */
  #space(): Promise<void> | undefined {
    if (this.#pausedAt === undefined || !this.#rows.isFull) return undefined;
    return new Promise((resolve) => {
      this.#resumed = resolve;
    });
  }

  #tick(): void {
    this.#release();
    this.#search.goOn();
    this.#showState();
  }

  #showState(): void {
    setText(byId('log-state'), this.#state());
    const { first, end } = this.#rows;
    const lines = `${(end - first).toLocaleString('en')} ${end - first === 1 ? 'line' : 'lines'}`;
    setText(byId('log-count'), lines);
    const gap = byId('log-gap');
    gap.hidden = first === 0;
    const dropped = first.toLocaleString('en');
    setText(
      gap,
      `The first ${dropped} lines were dropped: a page holds at most 128 MiB. Download the log to see them.`,
    );
    const following = this.#pausedAt === undefined && this.#view.isFollowing;
    byId('log-end').toggleAttribute('disabled', following);
  }

  #state(): string {
    if (this.#isGone) return 'This execution no longer exists, or you may no longer see it.';
    if (this.#isLost)
      return 'No connection to Berth. The log continues where it stopped once the connection is back.';
    const [problem] = this.#problems;
    if (problem) return `${this.#nameOf(problem[0])}: ${problem[1]}`;
    const ended = this.#ended.size === this.#services.length;
    if (this.#pausedAt !== undefined) {
      const more = this.#rows.end - this.#pausedAt;
      return `Paused. ${more.toLocaleString('en')} new ${more === 1 ? 'line' : 'lines'}.`;
    }
    if (this.#rows.end > 0) return ended ? 'The log has ended.' : 'Live.';
    if (!ended) return 'Waiting for output.';
    return this.#missing.size === 0
      ? 'The log ended without output.'
      : 'There is no log: the service never started, or its log is no longer kept.';
  }

  #nameOf = (service: number): string => this.#services.find(({ id }) => id === service)?.name ?? '';

  #controls(): void {
    this.#fitWindow();
    byId('log-pause').addEventListener('click', () => this.#pause(this.#pausedAt === undefined));
    byId('log-end').addEventListener('click', () => {
      this.#pause(false);
      this.#view.toEnd();
    });
    const scroller = byId('log-scroller');
    byId<HTMLInputElement>('log-times').addEventListener('change', ({ target }) => {
      scroller.classList.toggle('no-times', !(target as HTMLInputElement).checked);
      this.#view.wrap(byId<HTMLInputElement>('log-wrap').checked);
    });
    byId<HTMLInputElement>('log-wrap').addEventListener('change', ({ target }) =>
      this.#view.wrap((target as HTMLInputElement).checked),
    );
    document.getElementById('service-choice')?.addEventListener('change', ({ target }) => {
      (target as HTMLSelectElement).form?.requestSubmit();
    });
  }

  /** Narrow windows have little space beside the text. */
  #fitWindow(): void {
    if (!matchMedia('(width <= 40rem)').matches) return;
    byId<HTMLInputElement>('log-times').checked = false;
    byId<HTMLInputElement>('log-wrap').checked = true;
    byId('log-scroller').classList.add('no-times');
    this.#view.wrap(true);
  }

  #pause(isPaused: boolean): void {
    if (isPaused === (this.#pausedAt !== undefined)) return;
    this.#pausedAt = isPaused ? this.#rows.end : undefined;
    setText(byId('log-pause'), isPaused ? 'Resume' : 'Pause');
    this.#resumed?.();
    this.#resumed = undefined;
    this.#release();
    this.#view.changed();
    this.#showState();
  }

  #show(row: number): void {
    if (row >= (this.#pausedAt ?? row + 1)) this.#pause(false);
    this.#view.redraw();
    this.#view.show(row);
    this.#showState();
  }
}

const section = document.getElementById('log');
if (section) new LogPage(section).start();
