/** A host `runner`, whose agent fetches what services of users need, beside a host `other`. */
import { afterAll, beforeAll, expect } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { proofFor, ScriptedAgent } from '../agents/scripted-agent.ts';
import { basic, HttpClient, NATIVE, type Reply } from '../clients/http-client.ts';
import { application, service } from '../fixtures/descriptions.ts';
import { addUser } from '../fixtures/users.ts';
import { ADMIN_PASSWORD, allRows, type Host } from '../hosts/hosts.ts';

interface Fetched {
  /** Path at the control plane. */
  path: string;
  audience(deployment: string): string;
}

/** Joins the hosts before the tests of a suite. */
export function fetchingHost(host: () => Host, { path, audience }: Fetched) {
  const anonymous = new HttpClient(() => host().url());
  const as = (username: string, password = 'secret words') => anonymous.with(basic(username, password));
  const admin = as('admin', ADMIN_PASSWORD);
  let agent: ScriptedAgent;
  let users = 0;
  beforeAll(async () => {
    agent = await ScriptedAgent.join(host(), { facts: { name: 'runner', labels: ['runner'] } });
    await ScriptedAgent.join(host(), { facts: { name: 'other' } });
  });
  afterAll(() => agent?.close());
  const submission = (changes: Partial<ServiceDescription>) => ({
    name: 'fetches',
    application: application(service({ labels: ['runner'], ...changes })),
  });
  const submit = (user: HttpClient, changes: Partial<ServiceDescription>): Promise<Reply> =>
    user.post(`${NATIVE}/execution`, submission(changes));

  return {
    ...{ anonymous, as, admin, submission, submit },
    agent: () => agent,
    /** The name of the user who was made last. */
    lastUser: () => `user${users}`,
    async newUser(): Promise<HttpClient> {
      const name = `user${++users}`;
      await addUser(host(), name, 'secret words', 'user');
      return as(name);
    },
    async deleteLastUser(): Promise<void> {
      const found = (await admin.get(`${NATIVE}/user?username=user${users}`)).json();
      expect((await admin.delete(`${NATIVE}/user/${Object.keys(found)[0]}`)).status).toBe(200);
    },
    /** The assignment of an execution that is submitted now. */
    async started(user: HttpClient, changes: Partial<ServiceDescription>): Promise<Assignment> {
      const reply = await submit(user, changes);
      expect(reply.status, reply.text).toBe(200);
      return agent.only(reply.json<{ execution_id: number }>().execution_id);
    },
    async fetched(
      { service: id, generation }: Pick<Assignment, 'service' | 'generation'>,
      { from = 'runner', aud = audience(host().deployment) } = {},
    ): Promise<Reply> {
      const authorization = await proofFor(host(), from, { aud });
      return anonymous.with({ authorization }).get(`${path}?service=${id}&generation=${generation}`);
    },
    /** All that users and operators can see of an assignment, and all that Berth has stored or sent. */
    async everythingSeen(user: HttpClient, { execution, service: id }: Assignment): Promise<string> {
      const seen = [];
      for (const path of [`execution/${execution}`, `service/${id}`, 'secret', 'registry'])
        seen.push((await user.get(`${NATIVE}/${path}`)).text);
      seen.push((await admin.get(`${NATIVE}/audit`)).text, JSON.stringify(await allRows(host())));
      return [...seen, JSON.stringify(agent.messages), host().output()].join();
    },
  };
}
