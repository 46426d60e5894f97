/**
 * Reports a run of vitest for people: a line for each folder when its last file ends, failures in full at the
 * end, and the slowest files.
 */
import { relative, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
}

interface Folder extends Counts {
  /** Files that have not ended. */
  left: number;
  /** Sum over its files; two files often run at the same time. */
  ms: number;
}

const ROOT = resolve(import.meta.dirname, '../../..');
const SLOWEST = 10;
const MAX_MESSAGE_LENGTH = 200;

export class FolderReporter extends DefaultReporter {
  readonly total: Counts = { passed: 0, failed: 0 };
  /** A line for each failure: its file, its title, the beginning of its message. */
  readonly failures: string[] = [];
  readonly #folders = new Map<string, Folder>();
  readonly #files: { path: string; ms: number }[] = [];

  constructor() {
    super({ isTTY: false, summary: false });
  }

  override onInit(vitest: Parameters<DefaultReporter['onInit']>[0]): void {
    this.ctx = vitest;
    this.silent = 'passed-only';
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    for (const { moduleId, project } of specifications) this.#folderOf(moduleId, project.name).left += 1;
  }

  override onTestModuleEnd(module: TestModule): void {
    const name = folderName(module.moduleId, module.project.name);
    const folder = this.#folderOf(module.moduleId, module.project.name);
    const counts = countsOf(module);
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const ms = duration + collectDuration + setupDuration;
    this.#files.push({ path: relative(ROOT, module.moduleId), ms });
    for (const sum of [folder, this.total]) {
      sum.passed += counts.passed;
      sum.failed += counts.failed;
    }
    folder.ms += ms;
    folder.left -= 1;
    if (counts.failed > 0) this.log(`  FAILED  ${relative(ROOT, module.moduleId)}`);
    this.failures.push(...failuresOf(module));
    if (folder.left > 0) return;
    const failed = folder.failed > 0 ? `, ${folder.failed} FAILED` : '';
    this.log(`${seconds(folder.ms)}  ${name.padEnd(32)} ${folder.passed} passed${failed}`);
  }

  /** Errors outside of tests, such as an unhandled rejection, count as one failure. */
  override reportSummary(files: Parameters<DefaultReporter['reportSummary']>[0], errors: unknown[]): void {
    if (errors.length > 0) {
      this.total.failed += 1;
      this.failures.push(`an error outside of tests: ${firstLine(errors)}`);
    }
    super.reportSummary(files, errors);
  }

  override reportTestSummary(): void {
    const slowest = this.#files.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
    this.log('\nThe slowest files:');
    for (const { path, ms } of slowest) this.log(`${seconds(ms)}  ${path}`);
  }

  #folderOf(moduleId: string, project: string): Folder {
    const name = folderName(moduleId, project);
    const folder = this.#folders.get(name) ?? { passed: 0, failed: 0, left: 0, ms: 0 };
    this.#folders.set(name, folder);
    return folder;
  }
}

/** A file that fails without a failed test, for example at its import or set-up, counts as one failure. */
function countsOf(module: TestModule): Counts {
  const states = [...module.children.allTests()].map((test) => test.result().state);
  const failed = states.filter((state) => state === 'failed').length;
  const passed = states.filter((state) => state === 'passed').length;
  return { passed, failed: failed || Number(module.state() === 'failed') };
}

function failuresOf(module: TestModule): string[] {
  const path = relative(ROOT, module.moduleId);
  const failed = [...module.children.allTests()].filter((test) => test.result().state === 'failed');
  if (failed.length > 0)
    return failed.map((test) => `${path}: ${test.fullName}: ${firstLine(test.result().errors)}`);
  if (module.state() !== 'failed') return [];
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
  return [`${path}: the file itself: ${firstLine([...module.errors(), ...suites])}`];
}

const firstLine = (errors: readonly unknown[] | undefined): string =>
  stripVTControlCharacters(String((errors?.[0] as Error | undefined)?.message)).slice(0, MAX_MESSAGE_LENGTH);

/** Files of test/api run in two projects: in process, and on real hosts. */
function folderName(moduleId: string, project: string): string {
  const [, kind = '', ...rest] = relative(ROOT, moduleId).split('/');
  const depth = kind === 'all' ? 2 : 1;
  const folder = ['test', kind, ...rest.slice(0, Math.min(depth, rest.length - 1))].join('/');
  return project === 'hosts' && kind !== 'all' ? `${folder} (real hosts)` : folder;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1).padStart(8)} s`;
