/** Prometheus of the tests: an installed one, else the package of Debian, which needs root. */
import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findProgram } from '../../../agent/system-programs.ts';
import { type Program, startCommand } from '../hosts/process.ts';
import { foundOrInstalled } from './debian-program.ts';
import { scratchFolder } from './folder.ts';

interface Programs {
  prometheus: string;
  promtool: string;
}

/** Paths of the programs. `say` reports long steps. */
export function ensurePrometheus(say: (line: string) => void = () => {}): Promise<Programs> {
  const what = { tests: 'the tests of metrics', program: 'Prometheus', packages: ['prometheus'] };
  return foundOrInstalled(findPrometheus, what, say);
}

async function findPrometheus(): Promise<Programs | undefined> {
  const [prometheus, promtool] = await Promise.all([findProgram('prometheus'), findProgram('promtool')]);
  return prometheus !== undefined && promtool !== undefined ? { prometheus, promtool } : undefined;
}

/** What `promtool check metrics` complains of; empty if of nothing. */
export const complaintsOf = (promtool: string, metrics: string): Promise<string> =>
  outputOf(promtool, ['check', 'metrics'], metrics);

/** What `promtool` prints with these arguments and this standard input. */
export async function outputOf(promtool: string, args: string[], input = ''): Promise<string> {
  const tool = spawn(promtool, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  tool.stdin.end(input);
  const ended = new Promise<number | null>((done) => tool.once('close', done));
  const output = await Promise.all([text(tool.stdout), text(tool.stderr)]);
  const code = await ended;
  return code === 0 ? output.join('') : `${output.join('')}promtool ended with ${code}`;
}

/** A Prometheus on a free port of loopback, with a configuration of its own. */
export class PrometheusServer {
  readonly #url: string;
  readonly #program: Program;
  readonly #folder: string;

  private constructor(url: string, program: Program, folder: string) {
    this.#url = url;
    this.#program = program;
    this.#folder = folder;
  }

  /** `scrapeConfigs`: YAML of the list `scrape_configs`. */
  static async start(prometheus: string, port: number, scrapeConfigs: string): Promise<PrometheusServer> {
    const folder = await scratchFolder('berth-prometheus-');
    const config = join(folder, 'prometheus.yml');
    await writeFile(config, `scrape_configs:\n${scrapeConfigs}`);
    const program = startCommand([
      prometheus,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    await program.waitFor(/Server is ready to receive web requests/);
    return new PrometheusServer(`http://127.0.0.1:${port}`, program, folder);
  }

  /** The value of the first result of a query; undefined if there is none. */
  async query(query: string): Promise<number | undefined> {
    const answer = await fetch(`${this.#url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
    const value = data.result[0]?.value[1];
    return value === undefined ? undefined : Number(value);
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
