/**
 * Folder swap: an attack on volumes. One container exchanges a folder of its volume and a link to a folder
 * outside, without pause, while others mount that folder. Each of those that finds the outside folder in its
 * place has escaped.
 */

/** What the attack runs: a command with volumes, as a description has them. */
export interface AttackContainer {
  volumes: { name: string; path: string; readOnly: boolean }[];
  command: string[];
}

export interface FolderSwapOptions {
  /** A folder that containers may mount and write, as the host names it. */
  root: string;
  /** A folder of the host that no container may mount. It contains a file with the name in `proof`. */
  outside: string;
  proof: string;
  /** Containers that mount the folder. One that is refused does not count. */
  tries: number;
  /** Starts a container that runs until the returned function is called. */
  start(container: AttackContainer): Promise<() => Promise<void>>;
  /** Runs a container to its end. Resolves to its exit code, or to why it was refused. */
  run(container: AttackContainer): Promise<number | string>;
}

export interface FolderSwapOutcome {
  /** Containers that found the outside folder. */
  escaped: number;
  /** Containers that found the folder that they may mount. */
  inside: number;
  /** Reasons of the others, with their numbers. */
  refused: Map<string, number>;
}

const ESCAPED = 42;
const INSIDE = 43;
/** Containers that mount at once. */
const WIDTH = 4;

/** Runs the attack. Throws if the containers end in a way that shows nothing. */
export async function swapFolders(options: FolderSwapOptions): Promise<FolderSwapOutcome> {
  const { root, outside, proof, tries, start, run } = options;
  const stop = await start({
    volumes: [{ name: 'root', path: root, readOnly: false }],
    command: ['sh', '-c', swapScript(outside)],
  });
  const outcome: FolderSwapOutcome = { escaped: 0, inside: 0, refused: new Map() };
  const mount = async () => {
    while (outcome.escaped + outcome.inside < tries) {
      const end = await run({
        volumes: [{ name: 'in', path: `${root}/swapped`, readOnly: true }],
        command: [
          'sh',
          '-c',
          `test -e /mnt/in/${proof} && exit ${ESCAPED}; test -e /mnt/in/inside && exit ${INSIDE}; exit 1`,
        ],
      });
      if (end === ESCAPED) outcome.escaped += 1;
      else if (end === INSIDE) outcome.inside += 1;
      else if (typeof end === 'string') outcome.refused.set(end, (outcome.refused.get(end) ?? 0) + 1);
      else throw new Error(`a container of the attack ended with ${end}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: WIDTH }, mount));
  } finally {
    await stop();
  }
  return outcome;
}

/** The folder and the link are in place for equal times, about as long as a container takes to start. */
const swapScript = (outside: string): string => `
cd /mnt/root
mkdir -p swapped && touch swapped/inside
while :; do
  usleep 100000; mv swapped kept && ln -s ${outside} swapped
  usleep 100000; rm swapped && mv kept swapped
done`;
