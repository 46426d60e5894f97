/**
 * Live updates (WEB-2): an event causes the page to be fetched again, and its `data-live` parts are replaced
 * where they have changed. Events report only that something has changed; the server alone renders pages.
 * Without a connection the page shows its age.
 */
import { Idiomorph } from 'idiomorph';
import { duration } from '../../components/duration.ts';

const EVENTS = '/events';
/** Time between two refreshes; a burst of events costs one. */
const REFRESH_MS = 500;
/** How often parts of the topic `time` are fetched without an event: host usage changes without one. */
const CLOCK_MS = 30_000;
/** A shorter loss of the connection is not shown. */
const SHOW_LOSS_AFTER_MS = 3_000;
/** When a page that has sent a form opens its stream again, in case its user has stopped the loading. */
const STAYED_AFTER_MS = 10_000;

interface LiveEvent {
  kind: string;
  ids: string[];
}

export function keepLive(): void {
  if (!document.querySelector('[data-live]')) return;
  const refresher = new Refresher();
  const connection = new Connection(refresher);
  connection.open();
  // A hidden page needs no connection, and browsers allow few.
  document.addEventListener('visibilitychange', () =>
    document.hidden ? connection.close() : connection.open(),
  );
  setInterval(() => {
    if (!document.hidden && document.querySelector('[data-live~="time"]')) refresher.request();
  }, CLOCK_MS);
  addEventListener('pagehide', () => connection.close());
  addEventListener('pageshow', () => connection.open());
}

/** Fetches the page again and replaces its live parts, one fetch at a time. */
class Refresher {
  #due = false;
  #running = false;
  /** A form is being sent: loading another page would cancel it. */
  #leaving = false;

  constructor() {
    addEventListener('submit', ({ defaultPrevented }) => {
      this.#leaving = !defaultPrevented;
    });
    addEventListener('pageshow', () => {
      this.#leaving = false;
    });
  }

  get isLeaving(): boolean {
    return this.#leaving;
  }

  request(): void {
    this.#due = true;
    if (!this.#running) void this.#run();
  }

  /** Whether a part of the page shows the object of the event. */
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
    // The session has ended: shows the login page.
    if (response.redirected && new URL(response.url).pathname === '/login') return this.#leave(response.url);
    if (!response.ok)
      return response.status === 404 ? this.#leave(location.pathname + location.search) : undefined;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
      const next = fresh.getElementById(part.id);
      if (next) replace(part, next);
    }
  }

  /** Never reloads: a reload would send a form again if the page was the answer to one. */
  #leave(url: string): void {
    if (!this.#leaving) location.replace(url);
  }
}

/** Keeps what the user has opened, selected or typed. */
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
  /** The first stream begins when the page was rendered, so that no event is missed. */
  #since = sinceOf(document.body.dataset.lastEventId);

  constructor(refresher: Refresher) {
    this.#refresher = refresher;
    setInterval(() => this.#show(), 1_000);
  }

  open(): void {
    if (this.#source || document.hidden) return;
    const source = new EventSource(EVENTS + this.#since);
    // A new stream that begins later may have missed events. A stream that the browser reopens continues
    // without a gap.
    let missed = this.#since === '';
    this.#since = '';
    this.#source = source;
    source.onopen = () => {
      this.#lostMs = undefined;
      if (missed) this.#refresher.request();
      missed = false;
      this.#show();
    };
    source.onerror = () => {
      const isLeaving = this.#refresher.isLeaving;
      if (this.#lostMs === undefined && !isLeaving) void this.#leaveIfLoggedOut();
      this.#lostMs ??= Date.now();
      // Browsers do not retry a refused stream, for example during a start of the control plane or after the
      // session has ended. A page whose form is being sent, such as that of the logout, is about to go.
      if (source.readyState !== EventSource.CLOSED && !isLeaving) return;
      this.close();
      const delayMs = isLeaving ? STAYED_AFTER_MS : 2_000 + Math.random() * 2_000;
      setTimeout(() => {
        this.#refresher.request();
        this.open();
      }, delayMs);
    };
    for (const kind of ['execution', 'service', 'host']) {
      source.addEventListener(kind, ({ data }) => this.#take(kind, data));
    }
    source.addEventListener('reset', () => this.#refresher.request());
  }

  /** A stream ends with its session: the page then leads to the login, and shows no lost connection. */
  async #leaveIfLoggedOut(): Promise<void> {
    const headers = { accept: 'text/event-stream' };
    const response = await fetch(EVENTS, { method: 'HEAD', headers }).catch(() => undefined);
    // A logout ends the stream, too. Its own answer has a notice, which another fetch of the page would take.
    if (response?.status === 401 && !this.#refresher.isLeaving) this.#refresher.request();
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  #take(kind: string, data: string): void {
    const { id, execution_id } = JSON.parse(data) as { id: number; execution_id?: number };
    if (this.#refresher.concerns({ kind, ids: [String(id)] })) this.#refresher.request();
    // A service is part of its execution.
    const parent = { kind: 'execution', ids: [String(execution_id)] };
    if (execution_id !== undefined && this.#refresher.concerns(parent)) this.#refresher.request();
  }

  #show(): void {
    const message = document.getElementById('connection');
    if (!message) return;
    const ageMs = this.#lostMs === undefined ? 0 : Date.now() - this.#lostMs;
    message.hidden = ageMs <= SHOW_LOSS_AFTER_MS;
    if (!message.hidden)
      message.textContent = `No connection to Berth. This page is ${duration(ageMs)} old and updates once the connection is back.`;
  }
}
