/** The stream of a terminal's page over a line that breaks off again and again, on both hosts. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Reconnection } from '../../../control-plane/web/browser/parts/reconnection.ts';
import {
  ServiceStream,
  type StreamEnd,
  type StreamSocket,
  SUBPROTOCOL,
} from '../../../control-plane/web/browser/parts/service-stream.ts';
import { TERMINAL_WINDOW_BYTES, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import type { ScriptedStream } from '../../support/agents/scripted-stream.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { FrailLine } from '../../support/clients/frail-line.ts';
import { basic } from '../../support/clients/http-client.ts';
import { ADMIN_PASSWORD, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const headers = basic('admin', ADMIN_PASSWORD);
const BYTES = 5 * TERMINAL_WINDOW_BYTES;
const BREAKS = 6;

/** Grants the client as much as has arrived, until all has. */
async function takeAll(stream: ScriptedStream): Promise<void> {
  for (let granted = 0; granted < BYTES; ) {
    await eventually(() => stream.received.length > granted, 60_000);
    const arrived = stream.received.length;
    stream.grant(arrived - granted);
    granted = arrived;
  }
}

onHosts(
  [
    { kind: 'node', variant: 'B' },
    { kind: 'workerd', variant: 'B' },
  ],
  (host) => {
    test('H834, W238: what a page and its command send arrives once and in order, however often the line breaks', async () => {
      const agent = await ScriptedAgent.join(host());
      const { service } = await agent.runs(await new ApiClient(host).submit());
      const line = await FrailLine.to(host().url());
      const url = `${line.url.replace('http', 'ws')}/native/api/0.7/service/${service}/exec`;
      const dial = (): StreamSocket => {
        const socket = new WebSocket(url, SUBPROTOCOL, { headers });
        socket.on('error', () => {});
        return socket as unknown as StreamSocket;
      };
      const [input, output] = [randomBytes(BYTES), randomBytes(BYTES)];
      const shown: Uint8Array[] = [];
      const ends: StreamEnd[] = [];
      let [arrived, breaks] = [0, 0];
      const reconnection = new Reconnection({
        connect: () => stream.resume(dial()),
        abandon: () => stream.drop(),
        gaveUp: () => expect.unreachable('it connects again'),
      });
      const stream: ServiceStream = new ServiceStream(
        dial(),
        { type: 'exec', words: ['sh'], terminal: { columns: 80, rows: 24 }, resume: true },
        {
          opened: () => {},
          output: (bytes, used) => {
            shown.push(bytes);
            arrived += bytes.length;
            // Before the marks of this output are returned, and while input is on its way.
            if (arrived > ((breaks + 0.5) * BYTES) / BREAKS) {
              breaks += 1;
              line.break();
            }
            setImmediate(used);
          },
          ended: (end) => void ends.push(end),
          lost: () => reconnection.lost(),
          resumed: () => reconnection.connected(),
        },
      );
      const command = await agent.stream();
      command.accept();
      const taken = takeAll(command);
      const printed = command.write(output);
      for (let from = 0; from < BYTES; from += WINDOW_BYTES) {
        expect(stream.write(new Uint8Array(input.subarray(from, from + WINDOW_BYTES)))).toBe(true);
        await eventually(() => stream.sent());
      }
      await Promise.all([taken, printed]);
      await eventually(() => arrived === BYTES);
      expect([Buffer.concat(shown).equals(output), Buffer.from(command.received).equals(input)]).toEqual([
        ...[true, true],
      ]);
      expect([breaks, ends]).toEqual([BREAKS, []]);
      command.end(0);
      await eventually(() => expect(ends).toEqual([{ exitCode: 0 }]));
      line.close();
      await agent.close();
    });
  },
);
