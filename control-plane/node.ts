/**
 * Entry of a self-hosted control plane (`npm start`): settings from the environment, signals, and the local
 * agent as a child process.
 */
import { setFlagsFromString } from 'node:v8';
import { unknownIn } from '../shared/settings/setting-names.ts';
import { ConfigError, readNodeConfig } from './config.ts';
import { environment } from './local/environment.ts';
import { startLean } from './local/lean-start.ts';
import { startLocalAgent } from './local/local-agent.ts';
import { logTo } from './logger.ts';
import { startSelfHosted } from './self-hosted.ts';
import type { NodeConfig } from './settings.ts';

const log = logTo((line) => process.stderr.write(`${line}\n`));

startLean();
// Buffers of streams are freed by short collections of the young generation, before V8 marks its whole heap
// because of them (STREAM-21).
setFlagsFromString('--scavenger-max-new-space-capacity-mb=1');
try {
  for (const unknown of unknownIn(process.env)) log('setting.unknown', { ...unknown });
  await start(readNodeConfig(environment()));
} catch (error) {
  process.stderr.write(`Berth can't start: ${error instanceof Error ? error.message : String(error)}\n`);
  if (!(error instanceof ConfigError) && process.env.BERTH_DEBUG)
    log('start.failed', { error: String((error as Error).stack) });
  process.exit(1);
}

async function start(config: NodeConfig): Promise<void> {
  const berth = await startSelfHosted(config, { log });
  const end = endOnce(() => berth.stop(() => agent?.stop()));
  const { BERTH_DATA_DIR: dataDir, BERTH_DEPLOYMENT_NAME: deploymentName } = config;
  const local = { url: berth.url, dataDir, deploymentName, joinToken: berth.joinToken, unable: () => end(1) };
  const agent = config.BERTH_LOCAL_AGENT === 'on' ? startLocalAgent(local) : undefined;
  process.on('SIGTERM', () => end(0));
  process.on('SIGINT', () => end(0));
  // A reader of this may already end the process.
  process.stdout.write(berth.announcement);
}

/** Ends cleanly at the first call, and at once at the second. Containers keep running. */
function endOnce(end: () => Promise<void>): (code: number) => void {
  let ending = false;
  return (code) => {
    if (ending) process.exit(1);
    ending = true;
    void end().then(
      () => process.exit(code),
      (error) => {
        log('stop.failed', { error: String(error) });
        process.exit(1);
      },
    );
  };
}
