import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import {
  decodeFrame,
  FrameSplitter,
  type LogFrame,
  type LogNote,
  noteOf,
} from '../../../shared/streams/log-frames.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HttpClient } from '../../support/clients/http-client.ts';
import { PAGE, WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  let agent: ScriptedAgent;
  let tests = 0;

  beforeEach(async () => {
    tests += 1;
    agent = await ScriptedAgent.join(host(), { facts: { name: `host${tests}` }, inventory: [] });
  });
  afterEach(async () => {
    if (agent.closeCode === undefined) await agent.close();
  });

  async function visitor(username?: string, password?: string): Promise<HttpClient> {
    const { cookie } = await WebClient.logIn(host, username, password);
    return new HttpClient(() => host().url(), { ...PAGE, cookie });
  }
  async function running(...services: ReturnType<typeof service>[]): Promise<Assignment[]> {
    const id = await api.submit(application(...services));
    const all = await agent.assigned(id, services.length || 1);
    await agent.report(...all.map((one) => seen.running(one)));
    return all;
  }
  const path = (one: Assignment, from: string) => `/executions/${one.execution}/logs/stream?from=${from}`;
  const start = (...all: Assignment[]) => all.map((one) => `${one.service}.1.0`).join(',');

  test('W31: output comes with its position, from which another stream continues without gap or repetition', async () => {
    const [one] = (await running()) as [Assignment];
    const browser = await visitor();
    const first = new Frames(browser.open('GET', path(one, start(one))));
    const log = await agent.log(one.service);
    expect(log.opened).toMatchObject({ generation: 1, offset: 0, format: 'timestamps' });
    await log.write('2026-11-21 10:00:00 one\n');
    const frame = await first.next();
    expect(text(frame)).toBe('2026-11-21 10:00:00 one\n');
    expect(frame.position).toEqual({ generation: 1, offset: 24 });
    await first.leave();

    const second = new Frames(browser.open('GET', path(one, `${one.service}.1.${frame.position.offset}`)));
    const again = await agent.log(one.service, 1);
    expect(again.opened).toMatchObject({ generation: 1, offset: 24 });
    await again.write('2026-11-21 10:00:01 two\n');
    expect(text(await second.next())).toBe('2026-11-21 10:00:01 two\n');
    await second.leave();
  });

  test('W35: one stream carries the output of several services, each in order', async () => {
    const services = [service(), service({ name: 'side', monitor: false })];
    const [one, other] = (await running(...services)) as [Assignment, Assignment];
    const frames = new Frames((await visitor()).open('GET', path(one, start(one, other))));
    const [log, second] = [await agent.log(one.service), await agent.log(other.service)];
    const seenOf = new Map([one.service, other.service].map((id) => [id, '']));
    await Promise.all([
      (async () => {
        for (let at = 0; at < 50; at++) await log.write(`one ${at}\n`);
      })(),
      (async () => {
        for (let at = 0; at < 50; at++) await second.write(`other ${at}\n`);
      })(),
    ]);
    while (![...seenOf.values()].every((all) => all.includes(' 49\n'))) {
      const frame = await frames.next();
      seenOf.set(frame.service, `${seenOf.get(frame.service)}${text(frame)}`);
    }
    const expected = (name: string) => Array.from({ length: 50 }, (_, at) => `${name} ${at}\n`).join('');
    expect([...seenOf.values()]).toEqual([expected('one'), expected('other')]);
    await frames.leave();
  });

  test('W37: the stream reports the end of a log, a missing log, and a log that can not be read now', async () => {
    const browser = await visitor();
    const [one] = (await running()) as [Assignment];
    const frames = new Frames(browser.open('GET', path(one, start(one))));
    const log = await agent.log(one.service);
    await log.write('all of it\n');
    await agent.report(seen.exited(one, 0), seen.gone(one));
    log.end();
    expect((await frames.rest()).get(one.service)).toEqual([{ ended: true }]);

    const none = new Frames(browser.open('GET', path(one, start(one))));
    (await agent.log(one.service, 1)).missing();
    expect((await none.rest()).get(one.service)).toEqual([{ missing: 1 }, { ended: true }]);

    await api.waitFor(one.execution, 'terminated');
    await agent.close();
    const away = await new Frames(browser.open('GET', path(one, start(one)))).rest();
    expect(away.get(one.service)).toEqual([
      {
        trouble: expect.stringContaining('which is not connected. Try again when its agent has reconnected.'),
      },
    ]);
  });

  test('W36: the output is served as it was written, as text or as a file, and runs in no browser', async () => {
    const [one] = (await running()) as [Assignment];
    const browser = await visitor();
    const { text: html } = await browser.get(`/executions/${one.execution}/logs`);
    expect(html).toMatch(
      new RegExp(`<noscript>[^]*href="/executions/${one.execution}/logs/${one.service}/text"`),
    );
    const bytes = Buffer.from('<script>alert(1)</script>\x1b[31m\r\n\xff\0', 'latin1');
    for (const query of ['', '?download']) {
      const url = `/executions/${one.execution}/logs/${one.service}/text${query}`;
      const opened = browser.open('GET', url);
      const log = await agent.log(one.service, query === '' ? 0 : 1);
      expect(log.opened.format).toBe('raw');
      await log.write(bytes);
      const response = await opened;
      const { headers } = response;
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toContain('sandbox');
      expect(headers['content-disposition']).toBe(
        query === '' ? 'inline' : `attachment; filename="execution-${one.execution}-web0.log"`,
      );
      if (query !== '') await agent.report(seen.exited(one, 0));
      log.end();
      if (query !== '') expect((await buffer(response)).equals(bytes)).toBe(true);
      else response.destroy();
    }
  });

  test('W155: the output until now ends while the service runs, and one file has that of all services', async () => {
    const services = [service(), service({ name: 'side', monitor: false })];
    const [one, other] = (await running(...services)) as [Assignment, Assignment];
    const logs = `/executions/${one.execution}/logs`;
    const browser = await visitor();
    const { text: html } = await browser.get(logs);
    const now = `${logs}/${one.service}/text?download&follow=false`;
    for (const path of [`${logs}/text?download`, now.replace('&', '&amp;')])
      expect(html).toContain(`href="${path}"`);
    const opened = browser.open('GET', now);
    const log = await agent.log(one.service);
    expect(log.opened).toMatchObject({ format: 'raw', follow: false });
    await log.write('so far\n');
    log.end();
    expect(String(await buffer(await opened))).toBe('so far\n');

    const whole = browser.open('GET', `${logs}/text?download`);
    const first = await agent.log(one.service, 1);
    await first.write('no end of line');
    first.end();
    (await agent.log(other.service)).missing();
    const { headers } = await whole;
    expect(headers['content-disposition']).toBe(`attachment; filename="execution-${one.execution}.log"`);
    expect(headers['content-security-policy']).toContain('sandbox');
    expect(String(await buffer(await whole))).toBe(
      '==> web0 <==\nno end of line\n\n==> side0 <==\n==> the output of start 1 is not kept <==\n',
    );
    await agent.close();
    const away = (await browser.get(`${logs}/text`)).text;
    expect(away.match(/^==> The log is on (a )?host .* not connected\. .* <==$/gm)).toHaveLength(2);
    expect((await browser.get(now)).status).toBe(503);
  });

  test('W30: the log of another user is not found, nor is a service of another execution', async () => {
    const [one, two] = [(await running())[0], (await running())[0]] as [Assignment, Assignment];
    await new AccountClient(host).addUser('stranger');
    const other = await visitor('stranger', 'secret words');
    const browser = await visitor();
    const paths = (id: number, of: number) => [
      `/executions/${id}/logs?service=${of}`,
      `/executions/${id}/logs/${of}/text`,
      `/executions/${id}/logs/stream?from=${of}.1.0`,
    ];
    const own = `/executions/${one.execution}/logs`;
    for (const path of [own, `${own}/text`, ...paths(one.execution, one.service)])
      expect([path, (await other.get(path)).status]).toEqual([path, 404]);
    for (const path of paths(one.execution, two.service))
      expect([path, (await browser.get(path)).status]).toEqual([path, 404]);
    for (const from of ['', '1', '1.0.0', '1.1.-1', '1.1.1;', Array(17).fill('1.1.0').join(',')])
      expect([from, (await browser.get(path(one, from))).status]).toEqual([from, 400]);
  });
});

const text = ({ payload }: LogFrame): string => Buffer.from(payload).toString();

/** The frames of a stream as they arrive. */
class Frames {
  readonly #response: Promise<IncomingMessage>;
  #pieces: AsyncIterator<Buffer> | undefined;
  readonly #splitter = new FrameSplitter();
  readonly #frames: LogFrame[] = [];

  constructor(response: Promise<IncomingMessage>) {
    this.#response = response;
  }

  async next(): Promise<LogFrame> {
    const frame = await this.#nextIfAny();
    if (!frame) throw new Error('the stream has ended');
    return frame;
  }

  /** The notes up to the end of the stream, by service. */
  async rest(): Promise<Map<number, LogNote[]>> {
    const notes = new Map<number, LogNote[]>();
    for (let frame = await this.#nextIfAny(); frame; frame = await this.#nextIfAny()) {
      const note = noteOf(frame);
      if (note) notes.set(frame.service, [...(notes.get(frame.service) ?? []), note]);
    }
    return notes;
  }

  async leave(): Promise<void> {
    (await this.#response).destroy();
  }

  async #nextIfAny(): Promise<LogFrame | undefined> {
    this.#pieces ??= (await this.#response)[Symbol.asyncIterator]();
    while (this.#frames.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) return undefined;
      this.#frames.push(...this.#splitter.push(value).map(decodeFrame));
    }
    return this.#frames.shift();
  }
}
