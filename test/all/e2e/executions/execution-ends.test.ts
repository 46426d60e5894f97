/** Executions that end by themselves: their error messages, and nothing left behind. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Registry, startRegistry } from '../../../support/registries/empty-registry.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** A registry where nothing listens. */
const UNREACHABLE = '127.0.0.1:9';

let berth: Berth;
let registry: Registry;

beforeAll(async () => {
  registry = await startRegistry('missing');
  const env = { BERTH_AGENT_REGISTRIES: `${registry.host},${UNREACHABLE}` };
  berth = await startBerth({ deployment: 'e2e-ends', env });
});

afterAll(async () => {
  registry.close();
  await berth.close();
});

const memory = (max: number) => ({ memory: { min: null, max }, cores: { min: null, max: null } });

const cases: { rule: string; what: string; end: () => ServiceDescription; message: string | RegExp }[] = [
  {
    rule: 'C10',
    what: 'an exit code other than 0',
    end: () => script('exit 7'),
    message: 'service main0 ended with exit code 7',
  },
  {
    rule: 'C10',
    what: 'a process killed by a signal',
    end: () => script('kill -SEGV $$'),
    message: 'service main0 ended with exit code 139 (killed by SIGSEGV)',
  },
  {
    rule: 'C10',
    what: 'a process that exceeds its memory limit',
    end: () => script('x=a; while true; do x=$x$x; done', { resources: memory(16 * 2 ** 20) }),
    // The engine may have lost the reason (CONT-18).
    message: /^service main0 ended with exit code 137 \((killed by SIGKILL, perhaps )?out of memory\)$/,
  },
  {
    rule: 'C12',
    what: 'an image that is missing in its registry',
    end: () => service({ image: registry.image }),
    message: /^service main0: .*(manifest|none).*(unknown|not found)/,
  },
  {
    rule: 'C12',
    what: 'an unreachable registry',
    end: () => service({ image: `${UNREACHABLE}/none:1` }),
    message: /^service main0: .*127\.0\.0\.1:9.*connection refused/,
  },
  {
    rule: 'C12',
    what: 'a command that does not exist',
    end: () => service({ command: 'no-such-program --flag' }),
    message: /^service main0: .*no-such-program.*[Nn]o such file/,
  },
  {
    rule: 'C12',
    what: 'a volume outside of the allowed folders',
    end: () => service({ volumes: [{ name: 'data', path: '/etc', read_only: true }] }),
    message: /^service main0: volume data: path not allowed: \/etc \(.*BERTH_AGENT_VOLUME_ROOTS/,
  },
];

test.concurrent.each(cases)(
  '$rule: $what ends the execution as error, with a message that names the cause',
  async (ending) => {
    const bystander = service({ name: 'other', monitor: false, command: 'sleep 1000' });
    const id = await berth.api.submit(application(ending.end(), bystander));
    const { error_message, time_end } = await berth.api.waitFor(id, 'error');
    expect(error_message).toMatch(ending.message);
    expect(time_end).toBeGreaterThan(0);
    expect(await berth.containersOf(id)).toEqual([]);
  },
);

test.concurrent('C11, C45: a service that is not a monitor is restarted when it dies, and its log continues', async () => {
  const { api } = berth;
  const id = await api.submit(
    application(
      service({ command: 'sleep 1000' }),
      script('echo output; exit 3', { name: 'worker', monitor: false }),
    ),
  );
  const worker = (await api.execution(id)).services[1] ?? 0;
  const log = await api.openLog(worker);
  const [container] = await eventually(async () => {
    const all = await berth.containersOf(id);
    // The second container has finished its output when a third exists.
    const later = all.filter(({ Labels }) => Number(Labels['berth.generation']) >= 3);
    expect(later).toHaveLength(1);
    return later;
  }, 60_000);
  expect(container?.Labels['berth.service']).toBe(String(worker));
  expect((await api.execution(id)).status).toBe('running');
  await api.terminate(id);
  await api.waitFor(id, 'terminated');
  expect(await log.text()).toMatch(/^output\noutput\n(output\n)*$/);
});

test.concurrent('C11: a service that dies six times ends the execution as error', async () => {
  const { api } = berth;
  const id = await api.submit(
    application(
      service({ command: 'sleep 1000' }),
      script('echo output; exit 3', { name: 'worker', monitor: false }),
    ),
  );
  const { error_message } = await api.waitFor(id, 'error', 80_000);
  expect(error_message).toMatch(
    /service worker0 died more than 5 times .* service worker0 ended with exit code 3/,
  );
  expect(await api.logText(id, 1)).toBe('output\n'.repeat(6));
  expect(await berth.containersOf(id)).toEqual([]);
});
