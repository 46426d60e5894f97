/**
 * Event client for the API suite: the state that a browser's EventSource would hold, and how the stream
 * ended. It closes with its test.
 */
import type { IncomingMessage } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import { eventually } from '../tools/eventually.ts';
import type { HttpClient } from './http-client.ts';

export interface ReceivedEvent {
  event: string;
  id: string;
  data: Record<string, unknown>;
}

export class EventClient {
  readonly received: ReceivedEvent[] = [];
  /** Id that EventSource would send when it reconnects. */
  lastEventId = '';
  retryMs: number | undefined;
  comments = 0;
  ended: 'ended' | 'broken off' | undefined;
  readonly response: IncomingMessage;
  #rest = '';
  /** Number of received events that `next` has passed. */
  #passed = 0;

  constructor(response: IncomingMessage) {
    this.response = response;
    onTestFinished(() => this.close());
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#receive(text));
    response.on('end', () => {
      this.ended ??= 'ended';
    });
    response.on('error', () => {
      this.ended ??= 'broken off';
    });
  }

  static async open(http: HttpClient, lastEventId?: string): Promise<EventClient> {
    const client = lastEventId === undefined ? http : http.with({ 'last-event-id': lastEventId });
    const response = await client.open('GET', 'events');
    expect(response.statusCode).toBe(200);
    return new EventClient(response);
  }

  /** Opens a stream and waits for its greeting. The client receives every later event. */
  static async watch(http: HttpClient): Promise<EventClient> {
    const events = await EventClient.open(http);
    await events.next('hello');
    return events;
  }

  close(): void {
    this.response.destroy();
  }

  /** Waits for the next event of this kind with these fields, after the one that `next` returned last. */
  async next(event: string, fields: Record<string, unknown> = {}): Promise<ReceivedEvent> {
    const isIt = (one: ReceivedEvent) =>
      one.event === event && Object.entries(fields).every(([name, value]) => one.data[name] === value);
    const at = () => this.received.findIndex((one, index) => index >= this.#passed && isIt(one));
    await eventually(async () => at() >= 0).catch((cause) => {
      throw new Error(`no event ${event} ${JSON.stringify(fields)} in ${JSON.stringify(this.received)}`, {
        cause,
      });
    });
    const found = at();
    this.#passed = found + 1;
    return this.received[found] as ReceivedEvent;
  }

  statusesOf(id: number): unknown[] {
    return this.received
      .filter(({ event, data }) => event === 'execution' && data.id === id)
      .map(({ data }) => data.status);
  }

  #receive(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) this.#parse(block);
  }

  #parse(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      if (colon === 0) this.comments += 1;
      else fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
    }
    this.lastEventId = fields.get('id') ?? this.lastEventId;
    const retry = fields.get('retry');
    if (retry !== undefined) this.retryMs = Number(retry);
    const data = fields.get('data');
    if (data === undefined) return;
    this.received.push({ event: fields.get('event') ?? '', id: this.lastEventId, data: JSON.parse(data) });
  }
}
