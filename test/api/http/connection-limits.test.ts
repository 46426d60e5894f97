/** Connections of strangers, while clients and agents use the same control plane on Node. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { answerOn } from '../../support/clients/raw-http.ts';
import { onHostsWith } from '../../support/hosts/hosts.ts';

const INFO = 'GET /api/0.7/info HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n';

onHostsWith(
  {
    BERTH_LIMITS: JSON.stringify({
      connections: 40,
      connectionsPerAddress: 10,
      connectionsForAgents: 5,
    }),
  },
  [{ kind: 'node', variant: 'B' }],
  (host) => {
    const send = async (from: string, bytes: string): Promise<Socket> => {
      const socket = connect({
        port: Number(new URL(host().url()).port),
        host: '127.0.0.1',
        localAddress: from,
      });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(bytes);
      return socket;
    };

    test('H344, H345, H347: half a head on 300 connections of one address, and from each of 100 others, keeps nobody out, and no agent loses its connection', async () => {
      await using agent = await ScriptedAgent.join(host());
      const half = 'GET / HTTP/1.1\r\nHost: b';
      for (let n = 0; n < 300; n++) await send('127.0.0.2', half);
      expect((await answerOn(await send('127.0.0.3', INFO))).status).toBe(200);
      for (let n = 0; n < 100; n++) await send(`127.0.1.${n}`, half);
      expect((await answerOn(await send('127.0.0.3', INFO))).status).toBe(200);
      expect(agent.closeCode).toBeUndefined();
      await (await ScriptedAgent.join(host(), { facts: { name: 'host2' } })).close();
    });
  },
);
