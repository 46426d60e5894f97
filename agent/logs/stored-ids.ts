/**
 * Ids of the services with stored output, for `hello`. The proof of a service's ids is the name of an empty
 * file beside its output: `<service>/<execution>.<proof>.ids` (P143).
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { ProvenIds } from '../../shared/protocol/assignment.ts';

/** Ids as an assignment or a label has them. */
export interface GivenIds {
  service: number;
  execution?: number | undefined;
  idProof?: string | undefined;
}

export class StoredIds {
  readonly #dir: string;
  /** Names of the files of proofs, by service. */
  readonly #files = new Map<number, string>();
  #highestService = 0;
  #proven: readonly ProvenIds[] = [];

  /** `paths`: all files of the folder `dir`, relative to it. */
  constructor(dir: string, paths: readonly string[]) {
    this.#dir = dir;
    for (const path of paths) {
      this.note(Number.parseInt(path, 10) || 0);
      const [, service, execution, proof] = /^(\d+)\/(\d+)\.([\w-]{1,64})\.ids$/.exec(path) ?? [];
      if (proof === undefined) continue;
      this.#files.set(Number(service), path);
      this.#add({ service: Number(service), execution: Number(execution), proof });
    }
  }

  /** The highest service that has, or had since the start of this process, output here. 0: none. */
  get highestService(): number {
    return this.#highestService;
  }

  /** The ids with the highest execution and with the highest service among those with proofs. */
  get proven(): readonly ProvenIds[] {
    return this.#proven;
  }

  note(service: number): void {
    this.#highestService = Math.max(this.#highestService, service);
  }

  /** Stores the proof. Never throws: the container has it, too, and a full disk must not prevent a start. */
  keep({ service, execution, idProof: proof }: GivenIds): void {
    if (execution === undefined || proof === undefined) return;
    const path = `${service}/${execution}.${proof}.ids`;
    const former = this.#files.get(service);
    if (path === former) return;
    this.#add({ service, execution, proof });
    try {
      mkdirSync(`${this.#dir}/${service}`, { recursive: true });
      writeFileSync(`${this.#dir}/${path}`, '');
      this.#files.set(service, path);
      // Another database gave the same id.
      if (former !== undefined) rmSync(`${this.#dir}/${former}`, { force: true });
    } catch {
      // The next sync tries again.
    }
  }

  /** The output of the service was removed. */
  forget(service: number): void {
    this.#files.delete(service);
  }

  #add(ids: ProvenIds): void {
    this.note(ids.service);
    this.#proven = highestProofs([...this.#proven, ids]);
  }
}

/** The ids with the highest execution and those with the highest service, which are often the same. */
export function highestProofs(all: readonly ProvenIds[]): ProvenIds[] {
  const [first] = all;
  if (!first) return [];
  const byExecution = all.reduce((best, one) => (one.execution > best.execution ? one : best), first);
  const byService = all.reduce((best, one) => (one.service > best.service ? one : best), byExecution);
  return [...new Set([byExecution, byService])];
}
