/**
 * Starts a control plane on Node in this process: the program itself on a port of its own, with its database
 * on tmpfs. It ends with its connections and timers, as a process would.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readNodeConfig } from '../../../control-plane/config.ts';
import { generatedFiles } from '../../../control-plane/local/assets/generated-files.ts';
import { logTo } from '../../../control-plane/logger.ts';
import { type SelfHosted, startSelfHosted } from '../../../control-plane/self-hosted.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { documentedAt, undocumentedAt } from '../tools/documented.ts';
import { settingsOf } from './host-node.ts';
import type { Host, HostOptions } from './hosts.ts';
import { passwordCostIn } from './password-cost.ts';

const TMPFS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const ROOT = join(import.meta.dirname, '../../..');
/** Built once for all control planes of this process. */
const webFile = generatedFiles('make-web-files.ts', join(ROOT, 'node_modules/.cache/berth-test/web-files'));

export async function startHostInProcess(options: HostOptions): Promise<Host> {
  const folder = await mkdtemp(join(TMPFS, 'berth-host-'));
  const config = readNodeConfig(settingsOf(options, folder));
  let output = '';
  const print = (line: string) => {
    output += `${line}\n`;
  };
  const surroundings = { log: logTo(print), passwordCost: passwordCostIn(options.env ?? {}), webFile };
  let isRunning = false;
  let berth: SelfHosted;
  let sockets: Set<Socket>;
  const start = async () => {
    berth = await startSelfHosted(config, surroundings);
    output += berth.announcement;
    sockets = socketsOf(berth.server);
    documentedAt(berth.url, options.variant);
    isRunning = true;
  };
  const crash = async () => {
    undocumentedAt(berth.url);
    isRunning = false;
    berth.coordinator.stop();
    const closed = new Promise((done) => berth.server.close(done));
    for (const socket of sockets) socket.destroy();
    await berth.db.close();
    await closed;
  };
  await start();
  return {
    ...options,
    dataDir: folder,
    url: () => berth.url,
    output: () => output,
    openDb: () => openEmbedded(pathToFileURL(join(folder, 'berth.db')).href),
    crash,
    start,
    async stop() {
      undocumentedAt(berth.url);
      if (isRunning) await berth.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The open connections of a server, those of agents and streams included. */
function socketsOf(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
