/** Executions of the attacks: submitted by an account, read by their output, and terminated at the end. */
import { setTimeout } from 'node:timers/promises';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { application, service, shell } from '../../../test/support/fixtures/descriptions.ts';
import { Skipped } from '../attack.ts';
import { open, type Reply } from './http.ts';
import type { Account, Target } from './target.ts';

export interface ExecutionJson {
  status: string;
  error_message: string | null;
  services: number[];
}

/** Until a container has printed something. Longer means that no host takes it. */
const START_MS = 20_000;
/** Until the containers of a terminated execution are gone. */
const END_MS = 20_000;
const POLL_MS = 100;
/** The scripts of the attacks have small needs. */
const RESOURCES: ServiceDescription['resources'] = {
  memory: { min: 16 * 2 ** 20, max: 64 * 2 ** 20 },
  cores: { min: 0.1, max: null },
};

export const WEB_PORT: ServiceDescription['ports'][number] = {
  name: 'web',
  port_number: 8080,
  protocol: 'tcp',
  url_template: 'http://{ip_port}/',
};

/** A service that runs a shell script without single quotes and braces. */
export const scripted = (
  target: Target,
  script: string,
  changes: Partial<ServiceDescription> = {},
): ServiceDescription =>
  service({ image: target.options.image, resources: RESOURCES, command: shell(script), ...changes });

/** Fits on no host, so that it only waits. */
export const waiting = (target: Target): ServiceDescription =>
  service({
    image: target.options.image,
    resources: { memory: { min: 2 ** 50, max: null }, cores: { min: 1, max: null } },
  });

/** Submits an execution of containers. Throws Skipped if no host could take them. */
export async function run(
  target: Target,
  account: Account,
  ...services: ServiceDescription[]
): Promise<number> {
  const fits = await target.once('a host', async () => {
    const one = application(scripted(target, 'true'));
    const reply = await target.sendAs(account, 'POST', 'execution/explain', { application: one });
    return reply.status !== 200 || (JSON.parse(reply.text) as { fits_when_idle: unknown }).fits_when_idle;
  });
  if (fits === false) throw new Skipped('no host takes containers');
  return submit(target, account, ...services);
}

/** Submits an execution, which is terminated at the end of the attack. */
export async function submit(
  target: Target,
  account: Account,
  ...services: ServiceDescription[]
): Promise<number> {
  const reply = await trySubmit(target, account, application(...services));
  if (reply.status !== 200) throw new Skipped(`the submission answered ${reply.status} ${reply.text}`);
  return submittedIn(reply);
}

export const submittedIn = ({ text }: Reply): number =>
  (JSON.parse(text) as { execution_id: number }).execution_id;

/** The same, whatever the answer. */
export async function trySubmit(
  target: Target,
  account: Account,
  described: Application,
  fields: object = {},
): Promise<Reply> {
  const body = { name: 'berth-attack', application: described, ...fields };
  const reply = await target.sendAs(account, 'POST', 'execution', body);
  if (reply.status === 200) endLater(target, account, submittedIn(reply));
  return reply;
}

/**
 * Terminates an execution at the end of the attack, and waits until its containers are gone. Deletes it, too,
 * if the role allows that.
 */
function endLater(target: Target, account: Account, id: number): void {
  target.ofAttack.add(async () => {
    await target.undo(account, 'DELETE', `execution/${id}`, [200, 400, 404, 409]);
    const deadline = performance.now() + END_MS;
    for (;;) {
      const reply = await target.undo(account, 'GET', `execution/${id}`, [200, 404]);
      if (reply.status === 404 || hasEnded(JSON.parse(reply.text))) break;
      if (performance.now() > deadline) throw new Error(`execution ${id} of ${account.name} has not ended`);
      await setTimeout(POLL_MS);
    }
    await target.undo(account, 'DELETE', `execution/delete/${id}`, [200, 403, 404, 409]);
  });
}

const hasEnded = ({ status }: ExecutionJson): boolean => status === 'terminated' || status === 'error';

export const executionOf = (target: Target, account: Account, id: number): Promise<ExecutionJson> =>
  target.jsonAs(account, 'GET', `execution/${id}`);

/** The first service of an execution. */
export async function serviceOf(target: Target, account: Account, id: number): Promise<number> {
  const [service] = (await executionOf(target, account, id)).services;
  if (service === undefined) throw new Error(`execution ${id} has no service`);
  return service;
}

/** Waits until an execution has ended. */
export const ended = (target: Target, account: Account, id: number): Promise<ExecutionJson> =>
  target.until(async () => {
    const execution = await executionOf(target, account, id);
    return hasEnded(execution) ? execution : undefined;
  });

/**
 * Reads the output of the `nth` service until it matches. Throws Skipped if the output ends before, or if no
 * host starts the container.
 */
export async function outputOf(
  target: Target,
  account: Account,
  id: number,
  pattern: RegExp,
  nth = 0,
): Promise<string> {
  const { services } = await executionOf(target, account, id);
  const signal = AbortSignal.any([target.signal, AbortSignal.timeout(START_MS)]);
  const path = `service/logs/${services[nth]}`;
  let output = '';
  try {
    const log = await open(target.url, { path, headers: { cookie: account.cookie }, signal });
    for await (const part of log.setEncoding('utf8')) {
      output += part;
      if (pattern.test(output)) {
        log.destroy();
        return output;
      }
    }
  } catch (error) {
    if (target.signal.aborted || !signal.aborted) throw error;
  }
  const { status, error_message } = await executionOf(target, account, id);
  throw new Skipped(
    `the container did not do its part: ${[status, error_message, output.slice(-200)].filter(Boolean).join(', ')}`,
  );
}
