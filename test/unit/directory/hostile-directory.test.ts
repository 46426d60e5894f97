import { beforeEach, expect, test } from 'vitest';
import { readNodeConfig } from '../../../control-plane/config.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import type { Directory } from '../../../control-plane/directory/ldap-directory.ts';
import { ldapConfigOf } from '../../../control-plane/directory/ldap-settings.ts';
import {
  type Asked,
  ber,
  entry,
  opened,
  REQUEST,
  RESPONSE,
  reference,
  result,
  ScriptedDirectory,
} from '../../support/directory/scripted-directory.ts';
import { fc } from '../../support/tools/random-cases.ts';

const NAMING = { BERTH_LDAP_USERS: 'uid={name},dc=example' };
const SEARCH = { BERTH_LDAP_USERS: 'dc=example' };

let reasons: string[] = [];
beforeEach(() => {
  reasons = [];
});
const { start } = ScriptedDirectory;

function open({ url }: ScriptedDirectory, settings: Record<string, string>): Promise<Directory> {
  const given = {
    BERTH_LDAP_URL: url,
    BERTH_LDAP_OPTIONS: '{"tls": "off"}',
    BERTH_LIMITS: JSON.stringify({ ldapTimeoutS: 0.5 }),
    ...settings,
  };
  return opened(
    ldapConfigOf(readNodeConfig(given)),
    (_, fields) => void reasons.push(String(fields?.reason)),
  );
}

const verify = async (server: ScriptedDirectory, settings: Record<string, string>) => {
  const directory = await open(server, settings);
  return directory.verify('alice', 'secret words').catch((error) => {
    if (error instanceof OperationError) return error.code;
    throw error;
  });
};

const START_TLS = { BERTH_LDAP_OPTIONS: '{"tls": "on"}', ...NAMING };
const accepted = result(1, RESPONSE.extended);
const plain = result(1, RESPONSE.bind);

test.each<[string, Buffer, RegExp]>([
  ['is refused', result(1, RESPONSE.extended, 2), /refuses StartTLS with code 2/],
  ['is followed by an answer in plain text', Buffer.concat([accepted, plain]), /plain text/],
  ['is followed by the beginning of one', Buffer.concat([accepted, plain.subarray(0, 9)]), /plain/],
  ['has another form', plain, /another request/],
  ['has a length of no end', Buffer.from('308002010178070a010004000400', 'hex'), /malformed/],
  [
    'has a negative length',
    Buffer.from('3084ffffffff02010178070a010004000400', 'hex'),
    /more than 65536 bytes/,
  ],
  ['is longer than any', ber(0x30, Buffer.alloc(10_000)), /malformed/],
])('H551: where StartTLS %s, no name and no password is sent', async (_, answer, reason) => {
  const server = await start(({ socket }) => void socket.write(answer));
  expect(await verify(server, START_TLS)).toBe('unavailable');
  expect(reasons[0]).toMatch(reason);
  expect(server.asked).toEqual([REQUEST.extended]);
  expect(server.received.includes('alice')).toBe(false);
});

test('H551: where anything but TLS follows StartTLS, no name and no password is sent', async () => {
  let isFirst = true;
  const server = await start(({ socket }) => {
    socket.write(isFirst ? accepted : plain);
    isFirst = false;
  });
  expect(await verify(server, START_TLS)).toBe('unavailable');
  expect(server.received.includes('alice')).toBe(false);
});

/** Ends with the socket; does not outpace it. */
function flood({ socket }: Asked, bytes: Buffer): void {
  const go = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', go);
  go();
}

const times = (count: number, one: Buffer) => Buffer.concat(Array.from({ length: count }, () => one));
const MANY = times(3_000, reference(1, 'ldap://a'));
const LONG = ber(0x30, Buffer.alloc(2 ** 20));
const HUGE = Buffer.concat([Buffer.from('30847fffffff', 'hex'), Buffer.alloc(65_536)]);
/** Accepts the bind, and answers a search. */
const found = (answer: (asked: Asked) => void) => (asked: Asked) => {
  if (asked.operation === REQUEST.search) answer(asked);
  else asked.socket.write(result(asked.id, RESPONSE.bind));
};

test.each<[string, Record<string, string>, (asked: Asked) => void]>([
  ['references without end', NAMING, (asked) => flood(asked, MANY)],
  ['an answer of 2 GiB', NAMING, (asked) => flood(asked, HUGE)],
  ['an answer of 1 MiB', NAMING, (asked) => flood(asked, LONG)],
  ['entries without end', SEARCH, found((asked) => flood(asked, times(1_000, entry(asked.id, 'uid=alice'))))],
  [
    'an entry of 1 MiB',
    SEARCH,
    found(({ id, socket }) => void socket.write(entry(id, `uid=${'x'.repeat(2 ** 20)}`))),
  ],
])('H556: %s is cut off', async (_, settings, answer) => {
  const server = await start(answer);
  expect(await verify(server, settings)).toBe('unavailable');
  expect(reasons[0]).toMatch(/more than 65536 bytes/);
});

test.each<[string, (asked: Asked) => void]>([
  ['nothing', () => {}],
  [
    'the beginning of an answer',
    ({ id, socket }) => void socket.write(result(id, RESPONSE.bind).subarray(0, 8)),
  ],
])('H555: a directory that sends %s is given up after the timeout', async (_, answer) => {
  const server = await start(answer);
  expect(await verify(server, NAMING)).toBe('unavailable');
  expect(reasons[0]).toMatch(/not answered within 500 ms/);
});

test.each([
  ['another request', 1, RESPONSE.bind],
  ['another kind of request', 0, RESPONSE.extended],
])('H556: an answer to %s admits nobody', async (_, more, operation) => {
  const server = await start(({ id, socket }) => void socket.write(result(id + more, operation)));
  expect(await verify(server, NAMING)).toBe('unavailable');
  expect(reasons[0]).toMatch(/answers another request/);
});

test('H556: no referral is followed, and it is no refusal of the password', async () => {
  const elsewhere = await start(({ id, socket }) => void socket.write(result(id, RESPONSE.bind)));
  const referral = ber(0xa3, ber(0x04, `${elsewhere.url}/uid=alice,dc=example`));
  const server = await start(({ id, socket }) => void socket.write(result(id, RESPONSE.bind, 10, referral)));
  expect(await verify(server, NAMING)).toBe('unavailable');
  expect(elsewhere.connections).toBe(0);
});

test.each(['', 'EXTERNAL', 'PLAIN'])('H556: an entry named %o is nobody', async (dn) => {
  const server = await start(
    found(
      ({ id, socket }) => void socket.write(Buffer.concat([entry(id, dn), result(id, RESPONSE.searchDone)])),
    ),
  );
  expect(await verify(server, SEARCH)).toBe(false);
  // The bind without a name before the search is the only one.
  expect(server.asked).toEqual([REQUEST.bind, REQUEST.search]);
});

test('H556: whatever bytes a directory sends, each verification ends with an answer', async () => {
  let bytes: Buffer = Buffer.alloc(0);
  const server = await start(({ socket }) => void socket.end(bytes));
  const directory = await open(server, NAMING);
  const changed = fc.tuple(fc.nat(13), fc.nat(255), fc.constantFrom(1, 49)).map(([at, to, code]) => {
    const answer = result(1, RESPONSE.bind, code);
    answer[at] = to;
    return answer;
  });
  const anything = fc.uint8Array({ maxLength: 200 }).map((one) => Buffer.from(one));
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, changed), async (sent) => {
      bytes = sent;
      const answer = await directory.verify('alice', 'secret words').catch((error) => error);
      expect(typeof answer === 'boolean' || answer instanceof OperationError).toBe(true);
    }),
  );
});
