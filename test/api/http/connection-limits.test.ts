/** Connections of strangers, while clients and agents use the same control plane on Node. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { answerOn } from '../../support/clients/raw-http.ts';
import { onHosts } from '../../support/hosts/hosts.ts';

const CONNECTIONS = 40;
const PER_ADDRESS = 10;
const INFO = 'GET /api/0.7/info HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n';

onHosts(
  [{ kind: 'node', variant: 'B' }],
  (host) => {
    const sockets: Socket[] = [];
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.destroy();
    });
    const send = async (from: string, bytes: string): Promise<Socket> => {
      const socket = connect({
        port: Number(new URL(host().url()).port),
        host: '127.0.0.1',
        localAddress: from,
      });
      sockets.push(socket);
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(bytes);
      return socket;
    };

    test('H344, H347: half a head on 300 connections of one address keeps neither others nor agents out', async () => {
      for (let n = 0; n < 300; n++) await send('127.0.0.2', 'GET / HTTP/1.1\r\nHost: b');
      const reply = await answerOn(await send('127.0.0.3', INFO));
      expect(reply.status).toBe(200);
      const agent = await ScriptedAgent.join(host());
      await agent.close();
    });

    test('H345, H347: half a head from each of 100 addresses keeps nobody out, and no agent loses its connection', async () => {
      const agent = await ScriptedAgent.join(host());
      for (let n = 0; n < 100; n++) await send(`127.0.1.${n}`, 'GET / HTTP/1.1\r\nHost: b');
      const reply = await answerOn(await send('127.0.0.3', INFO));
      expect(reply.status).toBe(200);
      expect(agent.closeCode).toBeUndefined();
      const another = await ScriptedAgent.join(host(), { facts: { name: 'host2' } });
      await another.close();
      await agent.close();
    });
  },
  {
    BERTH_LIMITS: JSON.stringify({
      connections: CONNECTIONS,
      connectionsPerAddress: PER_ADDRESS,
      connectionsForAgents: 5,
    }),
  },
);
