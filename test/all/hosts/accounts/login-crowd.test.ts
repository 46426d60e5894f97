/** Logins while others guess as fast as they can. */
import { beforeAll, describe, expect, test } from 'vitest';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { addUser, passLoginDelays } from '../../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../../support/hosts/hosts.ts';
import { USUAL_PASSWORD_COST } from '../../../support/hosts/password-cost.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const GUESSES = 540;
/** Hashes that may be calculated between a login's arrival and its answer: far fewer than guesses wait. */
const FEW = 24;

onHosts(
  hosts,
  (host, { kind }) => {
    const header = kind === 'workerd' ? 'cf-connecting-ip' : 'x-forwarded-for';
    const logIn = (address: string, username: string, password: string) =>
      new HttpClient(() => host().url(), { ...basic(username, password), [header]: address }).get('login');

    beforeAll(async () => {
      for (const name of ['alice', 'bob', 'carol']) await addUser(host(), name, 'right password', 'user');
    });

    /** Sends all guesses at once. Resolves when the first hash has been calculated, and the queue is full. */
    async function guess(of: (nth: number) => [address: string, username: string]) {
      const statuses: number[] = [];
      const all = Array.from({ length: GUESSES }, async (_, nth) => {
        const [address, username] = of(nth);
        const headers = { ...basic(username, 'wrong password'), [header]: address };
        const reply = await fetch(`${host().url()}/api/0.7/login`, { headers });
        statuses.push(reply.status);
      });
      const count = (status: number) => statuses.filter((one) => one === status).length;
      await eventually(() => count(401) > 0 && count(503) > 0);
      return { checked: () => count(401), ended: Promise.all(all) };
    }

    describe.each<[what: string, address: string, username: string, of: (nth: number) => [string, string]]>([
      [
        'another network, while one network guesses at many names',
        '198.51.100.1',
        'alice',
        (nth) => [`192.0.2.${nth % 250}`, `name ${nth}`],
      ],
      [
        'another network, while one network guesses at the same name',
        '198.51.101.1',
        'bob',
        (nth) => [`192.0.3.${nth % 250}`, 'bob'],
      ],
      [
        'any network with another name, while many networks guess at one name',
        '10.0.1.1',
        'carol',
        (nth) => [`10.${nth >> 8}.${nth & 255}.7`, 'admin'],
      ],
    ])('a crowd of guesses', (what, address, username, of) => {
      test(`H341: a login from ${what}, is checked among the next`, async () => {
        await passLoginDelays(host());
        const guesses = await guess(of);
        const before = guesses.checked();
        const { status, text } = await logIn(address, username, 'right password');
        expect([status, status === 200 || text]).toEqual([200, true]);
        expect(guesses.checked() - before).toBeLessThanOrEqual(FEW);
        await guesses.ended;
      });
    });
  },
  { BERTH_TRUST_PROXY: 'on', BERTH_LIMITS: JSON.stringify({ waitingLogins: 64 }), ...USUAL_PASSWORD_COST },
);
