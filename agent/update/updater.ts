/**
 * Updates of the agent by its control plane (P200 to P203): checks a release, fetches its bundle, and has the
 * agent give way to it. The agent goes on serving until the bundle is there.
 */
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AgentRelease } from '../../shared/protocol/release.ts';
import { type Logger, messageOf } from '../logger.ts';
import { isBundleOf, refusalOf, type UpdateTerms } from './release-check.ts';

export interface UpdaterOptions {
  terms: UpdateTerms;
  /** Fetches the bundle of the control plane that the agent is connected to. */
  download(): Promise<Uint8Array>;
  log: Logger;
}

/** A bundle that was fetched and is signed. */
export interface Candidate {
  release: AgentRelease;
  path: string;
}

type Report = (failure: string | undefined) => void;

export class Updater {
  readonly #options: UpdaterOptions;
  #fetched = new AbortController();
  #candidate: Candidate | undefined;
  #isFetching = false;
  /** A sentence on the update that has failed last. */
  #failure: string | undefined;
  #report: Report = () => {};

  constructor(options: UpdaterOptions) {
    this.#options = options;
  }

  /** `report` receives why the last update has failed, now and upon changes. */
  reportTo(report: Report): void {
    this.#report = report;
    report(this.#failure);
  }

  /** Aborts once there is a candidate, to which the agent must give way. */
  get signal(): AbortSignal {
    return this.#fetched.signal;
  }

  get candidate(): Candidate | undefined {
    return this.#candidate;
  }

  /** Begins an update, unless one is under way. */
  request(release: AgentRelease): void {
    if (this.#isFetching || this.#candidate) return;
    this.#isFetching = true;
    void this.#fetch(release)
      .catch((error: unknown) => this.#fail(release, messageOf(error)))
      .finally(() => {
        this.#isFetching = false;
      });
  }

  async #fetch(release: AgentRelease): Promise<void> {
    const { terms, download, log } = this.#options;
    this.#note(undefined);
    const { refusal, program } = refusalOf(release, terms);
    if (refusal !== undefined) return this.#fail(release, refusal);
    log('update.began', { from: terms.version, to: release.version });
    const bundle = await download();
    if (!isBundleOf(release, bundle))
      return this.#fail(release, 'the file that the control plane has is not the one that was signed');
    await this.removeLeftover();
    const path = candidateBeside(program);
    // On disk before it can take the place of a program that works, and never through a link.
    await writeFile(path, bundle, { mode: 0o644, flag: 'wx', flush: true }).catch(async (error: unknown) => {
      await this.removeLeftover();
      throw error;
    });
    this.#candidate = { release, path };
    this.#fetched.abort();
  }

  /** Removes a bundle that an agent has left when it was killed. */
  async removeLeftover(): Promise<void> {
    const { program } = this.#options.terms;
    if (program !== undefined) await rm(candidateBeside(program), { force: true });
  }

  /** Puts the candidate in the place of the agent that runs. Rejects if the file can't be replaced. */
  async install({ release, path }: Candidate): Promise<void> {
    const { terms, log } = this.#options;
    await rename(path, terms.program ?? '');
    await flushFolder(dirname(path));
    log('update.installed', { from: terms.version, to: release.version });
  }

  /** The candidate is not to be used, for this reason, which is a clause for people. */
  async reject({ release, path }: Candidate, reason: string): Promise<void> {
    this.#candidate = undefined;
    this.#fetched = new AbortController();
    await rm(path, { force: true });
    this.#fail(release, reason);
  }

  #fail({ version }: AgentRelease, reason: string): void {
    this.#options.log('update.failed', { to: version, reason });
    this.#note(`The update to ${version} failed: ${reason}`);
  }

  #note(failure: string | undefined): void {
    this.#failure = failure;
    this.#report(failure);
  }
}

const candidateBeside = (program: string): string => join(dirname(program), 'berth-agent.candidate.mjs');

/** After that a loss of power does not undo a rename. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
