/** Attacks of a container on folders of its host. */
import { randomBytes } from 'node:crypto';
import { type AttackContainer, swapFolders } from '../../../test/support/attacks/folder-swap.ts';
import { type Attack, judge, Skipped, safe } from '../attack.ts';
import { ended, executionOf, run, scripted } from '../target/executions.ts';
import type { Target } from '../target/target.ts';

const TRIES = 8;
const MAX_REFUSALS = 60;
const EXIT = /ended with exit code (\d+)/;

const mounted = (target: Target, { volumes, command }: AttackContainer) =>
  scripted(target, String(command[2]), {
    volumes: volumes.map(({ name, path, readOnly }) => ({ name, path, read_only: readOnly })),
  });

/** Runs a container to its end. Resolves to its exit code, or to why it did not start. */
async function exitOf(target: Target, container: AttackContainer): Promise<number | string> {
  const attacker = target.account('attacker');
  const id = await run(target, attacker, mounted(target, container));
  const { status, error_message } = await ended(target, attacker, id);
  if (status === 'terminated') return 0;
  const [, code] = EXIT.exec(error_message ?? '') ?? [];
  return code === undefined ? (error_message ?? status) : Number(code);
}

const foreignFolder: Attack = {
  id: 'foreign-folder',
  who: 'a user',
  rules: ['P111'],
  tries: 'mounts folders of the host that it does not offer: /etc and /, directly and by a path with ".."',
  run: async (target) => {
    const mountedOnes: string[] = [];
    let refusal = '';
    for (const path of ['/etc', '/', '/tmp/../etc']) {
      const end = await exitOf(target, {
        volumes: [{ name: 'in', path, readOnly: true }],
        command: ['sh', '-c', 'exit 42'],
      });
      if (typeof end === 'number') mountedOnes.push(`${path} was mounted`);
      else refusal = end;
    }
    return judge(mountedOnes, `refused: ${refusal.slice(0, 200)}`);
  },
};

const race: Attack = {
  id: 'folder-race',
  who: 'a container',
  rules: ['P112', 'P113'],
  tries: `leaves its volume by exchanging a folder for a link to /etc while ${TRIES} others mount it (--volume-root)`,
  limitMs: 180_000,
  run: async (target) => {
    const { volumeRoot } = target.options;
    if (volumeRoot === undefined) throw new Skipped('needs --volume-root');
    const attacker = target.account('attacker');
    const name = `berth-attack-${randomBytes(4).toString('hex')}`;
    const volumes = [{ name: 'root', path: volumeRoot, readOnly: false }];
    const inRoot = (text: string) => exitOf(target, { volumes, command: ['sh', '-c', text] });
    const made = await inRoot(`mkdir -p /mnt/root/${name}/swapped; touch /mnt/root/${name}/swapped/inside`);
    if (made !== 0) throw new Skipped(`no folder could be made in ${volumeRoot}: ${made}`);
    let refusals = 0;
    const outcome = await swapFolders({
      root: `${volumeRoot}/${name}`,
      outside: '/etc',
      proof: 'passwd',
      tries: TRIES,
      start: async (container) => {
        const id = await run(target, attacker, mounted(target, container));
        await target.until(async () => {
          const { status, error_message } = await executionOf(target, attacker, id);
          if (['error', 'terminated'].includes(status)) throw new Skipped(error_message ?? status);
          return status === 'running' ? true : undefined;
        });
        return async () => {
          await target.undo(attacker, 'DELETE', `execution/${id}`, [200, 409]);
          await ended(target, attacker, id);
        };
      },
      run: async (container) => {
        const end = await exitOf(target, container);
        if (typeof end === 'number') return end;
        refusals += 1;
        if (refusals > MAX_REFUSALS) throw new Refused(end);
        return end;
      },
    }).catch((error) => {
      if (error instanceof Refused) return error;
      throw error;
    });
    await inRoot(`rm -rf /mnt/root/${name}`);
    if (outcome instanceof Refused)
      return safe(`${MAX_REFUSALS} mounts were refused, none read /etc: ${outcome.message.slice(0, 200)}`);
    return judge(
      outcome.escaped > 0 ? [`${outcome.escaped} of ${TRIES} containers read /etc of the host`] : [],
      `${outcome.inside} containers found their own folder, and ${refusals} were refused`,
    );
  },
};

class Refused extends Error {}

export const hostFolders: readonly Attack[] = [foreignFolder, race];
