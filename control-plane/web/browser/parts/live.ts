/**
 * Owns the pages' liveness: parts with `data-live` are fetched again when an event comes that concerns them, and only what
 * has changed is changed. While there is no connection the page says how old it is. Events only tell that something is
 * new; what is new the server's own page says, so nothing is rendered twice in two ways.
 */
import { Idiomorph } from 'idiomorph';
import { duration } from '../../components/duration.ts';

const EVENTS = '/events';
/** Between two refreshes: a burst of events costs one. */
const REFRESH_MS = 500;
/** How often parts of the topic `time` are fetched without an event: what hosts use changes without one. */
const CLOCK_MS = 30_000;
/** A connection that is only blinking is nobody's worry. */
const PATIENCE_MS = 3_000;

interface LiveEvent {
  kind: string;
  ids: string[];
}

export function keepLive(): void {
  if (!document.querySelector('[data-live]')) return;
  const refresher = new Refresher();
  const connection = new Connection(refresher);
  connection.open();
  // A page that nobody sees needs no connection, of which a browser has few.
  document.addEventListener('visibilitychange', () =>
    document.hidden ? connection.close() : connection.open(),
  );
  setInterval(() => {
    if (!document.hidden && document.querySelector('[data-live~="time"]')) refresher.ask();
  }, CLOCK_MS);
  addEventListener('pagehide', () => connection.close());
  addEventListener('pageshow', () => connection.open());
}

/** Fetches the page again and puts its live parts in place of those here, one fetch at a time. */
class Refresher {
  #due = false;
  #running = false;
  /** A form is on its way: to load the page again would put an end to that. */
  #leaving = false;

  constructor() {
    addEventListener('submit', ({ defaultPrevented }) => {
      this.#leaving = !defaultPrevented;
    });
    addEventListener('pageshow', () => {
      this.#leaving = false;
    });
  }

  ask(): void {
    this.#due = true;
    if (!this.#running) void this.#run();
  }

  /** Whether the page shows anything that the event is about. */
  concerns({ kind, ids }: LiveEvent): boolean {
    return [...document.querySelectorAll<HTMLElement>('[data-live]')].some((part) =>
      (part.dataset.live ?? '').split(' ').some((topic) => {
        const [wanted, id] = topic.split(':');
        return wanted === kind && (id === undefined || ids.includes(id));
      }),
    );
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#due) {
      this.#due = false;
      await this.#refresh().catch(() => {});
      await new Promise((done) => setTimeout(done, REFRESH_MS));
    }
    this.#running = false;
  }

  async #refresh(): Promise<void> {
    const response = await fetch(location.href, { headers: { accept: 'text/html', 'berth-refresh': '1' } });
    // Logged out meanwhile: the login page takes its place.
    if (response.redirected && new URL(response.url).pathname === '/login') return this.#leave(response.url);
    if (!response.ok)
      return response.status === 404 ? this.#leave(location.pathname + location.search) : undefined;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
      const next = fresh.getElementById(part.id);
      if (next) replace(part, next);
    }
  }

  /** No reload: that sends a form again where the page was the answer to one. */
  #leave(url: string): void {
    if (!this.#leaving) location.replace(url);
  }
}

/** What a person has opened, ticked or typed stays. */
function replace(part: HTMLElement, next: HTMLElement): void {
  Idiomorph.morph(part, next, {
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name: string, node: Element) =>
        !(name === 'open' && node instanceof HTMLDetailsElement) &&
        !((name === 'checked' || name === 'value') && node instanceof HTMLInputElement),
    },
  });
  part.dispatchEvent(new CustomEvent('berth:refreshed', { bubbles: true }));
}

const sinceOf = (id: string | undefined): string =>
  id === undefined ? '' : `?last_event_id=${encodeURIComponent(id)}`;

class Connection {
  readonly #refresher: Refresher;
  #source: EventSource | undefined;
  #lostMs: number | undefined;
  /** The first stream begins where the page was made: nothing between the two is missed. */
  #since = sinceOf(document.body.dataset.lastEventId);

  constructor(refresher: Refresher) {
    this.#refresher = refresher;
    setInterval(() => this.#show(), 1_000);
  }

  open(): void {
    if (this.#source || document.hidden) return;
    const source = new EventSource(EVENTS + this.#since);
    // A stream of its own that begins later has missed something; one that the browser opens again goes on.
    let missed = this.#since === '';
    this.#since = '';
    this.#source = source;
    source.onopen = () => {
      this.#lostMs = undefined;
      if (missed) this.#refresher.ask();
      missed = false;
      this.#show();
    };
    source.onerror = () => {
      this.#lostMs ??= Date.now();
      // The browser gives up for good where it was refused: by a control plane that is just starting, or a login that is over.
      if (source.readyState !== EventSource.CLOSED) return;
      this.close();
      setTimeout(
        () => {
          this.#refresher.ask();
          this.open();
        },
        2_000 + Math.random() * 2_000,
      );
    };
    for (const kind of ['execution', 'service', 'host']) {
      source.addEventListener(kind, ({ data }) => this.#take(kind, data));
    }
    source.addEventListener('reset', () => this.#refresher.ask());
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  #take(kind: string, data: string): void {
    const { id, execution_id } = JSON.parse(data) as { id: number; execution_id?: number };
    if (this.#refresher.concerns({ kind, ids: [String(id)] })) this.#refresher.ask();
    // A service is a part of its execution.
    const parent = { kind: 'execution', ids: [String(execution_id)] };
    if (execution_id !== undefined && this.#refresher.concerns(parent)) this.#refresher.ask();
  }

  #show(): void {
    const message = document.getElementById('connection');
    if (!message) return;
    const ageMs = this.#lostMs === undefined ? 0 : Date.now() - this.#lostMs;
    message.hidden = ageMs <= PATIENCE_MS;
    if (!message.hidden)
      message.textContent = `No connection to Berth. This page is ${duration(ageMs)} old and updates once the connection is back.`;
  }
}
