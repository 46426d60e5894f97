import { beforeEach, expect, test } from 'vitest';
import type { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import type { LogSubscriber } from '../../../control-plane/core/streams/channel-subscriber.ts';
import type { LogPosition } from '../../../shared/streams/log-frames.ts';
import { CoordinatorRig, codeOf, owner } from '../../support/rigs/coordinator-rig.ts';
import { running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
let service: number;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
  await rig.submit();
  const [row] = await rig.memory.query('SELECT first_service_id AS id FROM executions');
  service = Number(row?.id);
});

const MINUTE_MS = 60_000;

/** A subscriber of the service that records how its stream ended. */
class Log {
  ended: string | undefined;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
    void this.#read().then(
      () => {
        this.ended = 'ended';
      },
      (error: Error) => {
        this.ended = error.message;
      },
    );
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  async #read(): Promise<void> {
    while (!(await this.#reader.read()).done);
  }
}

const open = async (subscriber: Partial<LogSubscriber> = {}, from?: LogPosition): Promise<Log> =>
  new Log(await rig.logsOf()({ ...owner, ...subscriber }, service, 'timestamps', from));
const accessLost = 'Your session or permissions have changed. Log in again.';
const takeover = 'Another control plane has taken over. Connect to that one.';
const until = (log: Log, ended: string) => eventually(() => log.ended === ended);
const write = (sql: string) => rig.memory.batch([{ sql, args: [] }]);
const addSession = (name: string, expiresMs: number) =>
  write(`INSERT INTO sessions (token_hash, user_id, credential_version, expires_ms)
    VALUES ('${name}', 1, 1, ${expiresMs})`);
const bySession = (tokenHash: string): Partial<LogSubscriber> => ({
  credential: { by: 'session', tokenHash },
});

test('H298: a change of the user that ends sessions aborts the log, and no other change does', async () => {
  const log = await open();
  const change = (changes: object) => rig.coordinator.changeAccounts({ kind: 'update-user', id: 1, changes });
  await change({ email: 'new', priority: 3 });
  await rig.submit();
  expect(log.ended).toBeUndefined();
  await change({ passwordHash: 'x' });
  await until(log, accessLost);
  expect(await codeOf(open())).toBe('unauthenticated');
  expect(await codeOf(open({ credentialVersion: 2 }))).toBe('fulfilled');
});

test('H298: the end of a session aborts the logs that were opened with it, and no others', async () => {
  await addSession('one', rig.clock.nowMs() + 10 * MINUTE_MS);
  await addSession('other', rig.clock.nowMs() + 10 * MINUTE_MS);
  const [one, other, basic] = [await open(bySession('one')), await open(bySession('other')), await open()];
  await write(`DELETE FROM sessions WHERE token_hash = 'one'`);
  await rig.coordinator.reviewSubscriptions(1);
  await until(one, accessLost);
  expect([other.ended, basic.ended]).toEqual([undefined, undefined]);
});

test('H298, H487: an expired session or token reads on for at most a minute', async () => {
  const expiresMs = rig.clock.nowMs() + 2 * MINUTE_MS + 1;
  await addSession('one', expiresMs);
  await write(`INSERT INTO tokens (id_hash, kind, grant_hash, user_id, credential_version, expires_ms)
    VALUES ('two', 'access', 'two', 1, 1, ${expiresMs})`);
  await write(`INSERT INTO personal_tokens (user_id, name, hash, scopes, made_ms, expires_ms)
    VALUES (1, 'ci', 'three', '["read"]', 0, ${expiresMs}), (1, 'endless', 'four', '["read"]', 0, NULL)`);
  const byPersonalToken = (hash: string) =>
    open({ credential: { by: 'personal-token', id: 1, hash, scopes: ['read'] } as const });
  const endless = await byPersonalToken('four');
  const logs = [
    await open(bySession('one')),
    await open({ credential: { by: 'token', idHash: 'two' } }),
    await byPersonalToken('three'),
  ];
  rig.clock.pass(MINUTE_MS);
  await rig.coordinator.reviewSubscriptions(1);
  expect(logs.map(({ ended }) => ended)).toEqual([undefined, undefined, undefined]);
  rig.clock.pass(MINUTE_MS);
  rig.clock.pass(MINUTE_MS);
  for (const log of logs) await until(log, accessLost);
  expect(endless.ended).toBeUndefined();
});

test('H298: a change of a role aborts the logs that the role no longer permits, and no others', async () => {
  await write(`INSERT INTO roles (id, name, can_change_config, can_delete_executions, can_see_status,
    can_access_full_app_shop, can_operate_others, can_customize_resources, can_access_api)
    VALUES (9, 'guard', 0, 0, 0, 0, 1, 0, 1)`);
  await write('UPDATE users SET role_id = 9');
  const [own, others] = [await open(), await open({ ownerId: 7 })];
  await write('UPDATE roles SET can_operate_others = 0 WHERE id = 9');
  await rig.coordinator.reviewSubscriptions(null);
  await until(others, accessLost);
  expect(own.ended).toBeUndefined();
  await write('UPDATE roles SET can_access_api = 0 WHERE id = 9');
  await rig.coordinator.reviewSubscriptions(null);
  await until(own, 'The role guard lacks "Use the API" (can_access_api).');
});

test('C152: access cannot be checked while the database is away, and is checked within a minute of its return', async () => {
  const log = await open(bySession('none'));
  rig.db.failing = 'unreachable';
  await rig.coordinator.reviewSubscriptions(1);
  rig.clock.pass(MINUTE_MS);
  await rig.coordinator.reviewSubscriptions(1);
  expect(log.ended).toBeUndefined();
  rig.db.failing = 'no';
  rig.clock.pass(MINUTE_MS);
  await until(log, accessLost);
});

test('C152: an aborted log is closed at its host', async () => {
  const one = await rig.agent().join();
  await one.reportEach(await one.started(), running);
  const log = await open(bySession('none'));
  const { channel } = one.log;
  await rig.coordinator.reviewSubscriptions(null);
  await until(log, accessLost);
  expect(one.socket.all('channel.reset')).toEqual([{ type: 'channel.reset', channel }]);
});

test.each([
  ['with its next change', (old: Coordinator) => codeOf(old.terminate(1))],
  ['within a minute, with nothing but subscribers', async () => rig.clock.pass(MINUTE_MS)],
])('C151: a coordinator that learns of a takeover, %s, aborts its logs', async (_, learn) => {
  const { coordinator: old } = rig;
  const log = await open();
  rig.restart();
  await rig.submit();
  await learn(old);
  await until(log, takeover);
});

test('C151: neither a state that is lost and read again nor an unreachable database aborts a log', async () => {
  const log = await open();
  rig.db.failing = 'unreachable';
  rig.clock.pass(MINUTE_MS);
  expect(await codeOf(rig.submit())).toBe('unavailable');
  rig.db.failing = 'no';
  await rig.submit();
  expect(log.ended).toBeUndefined();
  await rig.coordinator.terminate(1);
  await until(log, 'ended');
});

test('H299: a user may have 100 logs open, and one that is closed permits another', async () => {
  const all = await Promise.all(Array.from({ length: 110 }, () => open().catch((error) => error)));
  const logs = all.filter((one) => one instanceof Log);
  expect(logs.length).toBe(100);
  expect(all.find((one) => !(one instanceof Log))).toMatchObject({ code: 'too-many', retryAfterS: 15 });
  await logs[7]?.leave();
  await open();
  expect(await codeOf(open())).toBe('too-many');
});

test('H299: a host serves 256 logs, and one more is refused with the reason', async () => {
  for (const id of [2, 3]) await rig.addUser(id);
  rig.restart();
  const one = await rig.agent().join();
  await one.reportEach(await one.started(), running);
  const logs = await Promise.all(Array.from({ length: 256 }, (_, n) => open({ userId: 1 + (n % 3) })));
  await expect(open()).rejects.toMatchObject({
    code: 'unavailable',
    message: 'Host one already serves 256 logs, which is the limit. Try again later.',
  });
  await logs[0]?.leave();
  await open();
});

test('W102: an attempt to open too many logs detects the pages that were left', async () => {
  const stream = await rig.logsOf()(owner, service, 'timestamps', { generation: 1, offset: 0 });
  const first = stream.getReader().read();
  await Promise.all(Array.from({ length: 99 }, () => open()));
  expect(await codeOf(open())).toBe('too-many');
  // A heartbeat: without a service, and empty.
  expect((await first).value).toEqual(new Uint8Array(20));
});
