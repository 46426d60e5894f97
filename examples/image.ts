/**
 * Makes the small image that examples and tests run: busybox with every applet linked, created by the
 * engine's import API and so without a registry. Never replaces an existing image. Its programs resolve other
 * containers by DNS name; only `wget -T` crashes (a bug in the static busybox of Debian 12).
 *
 * `npm run image` makes it on the engine of this machine.
 */
import { realpathSync } from 'node:fs';
import type Docker from 'dockerode';
import { connectEngine } from '../agent/engine/engine-address.ts';
import { ensureEngine } from '../agent/local/local-engine.ts';
import { type Terminal, terminal } from '../agent/local/terminal.ts';
import { findBusybox, packRoot } from './busybox.ts';

export const IMAGE = 'berth/busybox:1';

/** Pulled if this machine can't make an image for its engine, for example on macOS. */
const SUBSTITUTE = 'busybox:1';

/** Makes the image unless the engine has it, and returns its name. */
export async function ensureImage(docker: Docker, name = IMAGE, say = terminal.say): Promise<string> {
  if (await exists(docker, name)) return name;
  const busybox = await findBusybox(say);
  const [repo = name, tag = 'latest'] = name.split(':');
  if (busybox) await importImage(docker, busybox, repo, tag);
  else await pullSubstitute(docker, repo, tag, say);
  return name;
}

async function exists(docker: Docker, name: string): Promise<boolean> {
  try {
    await docker.getImage(name).inspect();
    return true;
  } catch (error) {
    if (error instanceof Error && 'statusCode' in error && error.statusCode === 404) return false;
    throw error;
  }
}

async function importImage(docker: Docker, busybox: string, repo: string, tag: string): Promise<void> {
  const changes = ['ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'CMD ["sh"]'];
  await finished(docker, await docker.importImage(await packRoot(busybox), { repo, tag, changes }));
}

async function pullSubstitute(
  docker: Docker,
  repo: string,
  tag: string,
  say: Terminal['say'],
): Promise<void> {
  say(`Pulling ${SUBSTITUTE}, since this machine has no static busybox to make an image of`);
  try {
    await finished(docker, await docker.pull(SUBSTITUTE));
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    throw new Error(
      `${SUBSTITUTE} can't be pulled (${reason}). Install a static busybox as /bin/busybox instead`,
    );
  }
  await docker.getImage(SUBSTITUTE).tag({ repo, tag });
}

/** Reads a progress stream to its end: the engine reports errors inside it. */
const finished = (docker: Docker, progress: NodeJS.ReadableStream): Promise<unknown> =>
  new Promise((done, fail) => {
    docker.modem.followProgress(progress, (error, output) => (error ? fail(error) : done(output)));
  });

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    const engine = await ensureEngine(terminal);
    terminal.say(`${await ensureImage(connectEngine(engine.host))} is there`);
  } catch (error) {
    terminal.say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
