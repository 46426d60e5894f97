/** Owns a reader of events for the API suite: what a browser's EventSource keeps of the stream, and how it ended. */
import type { IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import { eventually } from '../tools/eventually.ts';
import type { HttpClient } from './http-client.ts';

export interface Told {
  event: string;
  id: string;
  data: Record<string, unknown>;
}

export class EventClient {
  /** In the order in which they came. */
  readonly told: Told[] = [];
  /** As EventSource would send it when it comes back. */
  lastEventId = '';
  retryMs: number | undefined;
  comments = 0;
  ended: 'ended' | 'broken off' | undefined;
  readonly response: IncomingMessage;
  #rest = '';
  /** Of the events that came before, those that were looked at. */
  #seen = 0;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
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

  /** One that has been greeted: nothing is missed from here on. */
  static async watch(http: HttpClient): Promise<EventClient> {
    const events = await EventClient.open(http);
    await events.next('hello');
    return events;
  }

  close(): void {
    this.response.destroy();
  }

  /** The next event of the kind, with these fields, behind the one that was asked for last. */
  async next(event: string, fields: Record<string, unknown> = {}): Promise<Told> {
    const isIt = (one: Told) =>
      one.event === event && Object.entries(fields).every(([name, value]) => one.data[name] === value);
    const at = () => this.told.findIndex((one, index) => index >= this.#seen && isIt(one));
    await eventually(async () => at() >= 0).catch((cause) => {
      throw new Error(`no ${event} ${JSON.stringify(fields)} in ${JSON.stringify(this.told)}`, { cause });
    });
    const found = at();
    this.#seen = found + 1;
    return this.told[found] as Told;
  }

  /** Statuses of an execution, as told. */
  statusesOf(id: number): unknown[] {
    return this.told
      .filter(({ event, data }) => event === 'execution' && data.id === id)
      .map(({ data }) => data.status);
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) this.#read(block);
  }

  #read(block: string): void {
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
    this.told.push({ event: fields.get('event') ?? '', id: this.lastEventId, data: JSON.parse(data) });
  }
}
