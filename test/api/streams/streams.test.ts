/** Streams to services: from a client's WebSocket to an agent's, on both hosts. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { MAX_WINDOW_BYTES, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic } from '../../support/clients/http-client.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const ADMIN = basic('admin', ADMIN_PASSWORD);
const SHELL = { type: 'exec', words: ['sh', '-c', 'secret words'] };
const RESUMABLE = { ...SHELL, terminal: { columns: 80, rows: 24 }, resume: true };

onHosts(
  [
    { kind: 'node', variant: 'B' },
    { kind: 'workerd', variant: 'B' },
  ],
  (host) => {
    const api = new ApiClient(host);
    let agent: ScriptedAgent;
    let tests = 0;
    let one: Assignment;

    beforeEach(async () => {
      tests += 1;
      agent = await ScriptedAgent.join(host(), { facts: { name: `host${tests}` } });
      one = await agent.runs(await api.submit());
    });
    afterEach(async () => {
      if (agent.closeCode === undefined) await agent.close();
    });

    const pathOf = (service: number, purpose = 'exec') =>
      `${host().url()}/native/api/0.7/service/${service}/${purpose}`;
    const open = (request: object = SHELL, headers: Record<string, string> = ADMIN, protocols?: string[]) =>
      StreamClient.open(pathOf(one.service), request, headers, protocols);
    const opened = async (request?: object, headers?: Record<string, string>) => {
      const client = await open(request, headers);
      const stream = await agent.stream();
      stream.accept();
      await client.got('opened');
      return { client, stream };
    };

    test('H680: a command carries bytes both ways, and ends with its exit code', async () => {
      const { client, stream } = await opened();
      expect(stream.opening).toMatchObject({
        service: one.service,
        generation: 1,
        target: { kind: 'exec', words: SHELL.words },
      });
      client.write('input');
      await eventually(() => expect(Buffer.from(stream.received).toString()).toBe('input'));
      client.send({ type: 'end' });
      await eventually(() =>
        expect(stream.messages).toContainEqual(expect.objectContaining({ type: 'channel.end' })),
      );
      await stream.write('\x01output');
      stream.end(7);
      expect(await client.got('end')).toEqual({ type: 'end', exit_code: 7 });
      expect(client.output.toString()).toBe('\x01output');
      expect(await client.closed()).toBe(1000);
    });
    test('H685: only the owner, or who may operate others, opens a stream, from no other site, and to what runs', async () => {
      await expect(open(SHELL, {})).rejects.toThrow('401');
      await expect(open(SHELL, { ...ADMIN, origin: 'https://evil.example.org' })).rejects.toThrow('403');
      await expect(open(SHELL, ADMIN, ['other'])).rejects.toThrow('400');
      await addUser(host(), `user${tests}`, 'secret words', 'user');
      await expect(open(SHELL, basic(`user${tests}`, 'secret words'))).rejects.toThrow('404');
      await agent.report(seen.exited(one, 0));
      const late = await open();
      expect((await late.got('reset')).message).toBe('The service is not running.');
    });
    test('H685: a stream ends at once when its user is disabled', async () => {
      const accounts = new AccountClient(host);
      const user = await accounts.addUser(`user${tests}`);
      const own = new ApiClient(host, `user${tests}`, 'secret words');
      one = await agent.runs(await own.submit());
      const { client } = await opened(SHELL, basic(`user${tests}`, 'secret words'));
      await accounts.update('user', user, { enabled: false });
      expect((await client.got('reset')).message).toContain('permissions have changed');
    });
    test('H687: without can_exec a role has neither commands nor ports, and what is open ends with that reason', async () => {
      const accounts = new AccountClient(host);
      const role_id = await accounts.create('role', { name: `role${tests}`, can_access_api: true });
      await accounts.addUser(`user${tests}`, { role_id });
      const own = new ApiClient(host, `user${tests}`, 'secret words');
      one = await agent.runs(await own.submit());
      const headers = basic(`user${tests}`, 'secret words');
      const { client } = await opened(SHELL, headers);
      await accounts.update('role', role_id, { can_exec: false });
      const reason = `The role role${tests} lacks "Run commands in services" (can_exec).`;
      expect((await client.got('reset')).message).toBe(reason);
      for (const purpose of ['exec', 'forward'])
        for (const service of [one.service, 999_999]) {
          const reply = await own.http.get(`service/${service}/${purpose}`);
          expect([reply.status, reply.json<{ message: string }>().message]).toEqual([403, reason]);
        }
      await expect(open(SHELL, headers)).rejects.toThrow('403');
    });
    test('H688: the paths of the group have streams too, and answer other requests in its form', async () => {
      const path = `${host().url()}/api/0.7/service/${one.service}/exec`;
      const client = await StreamClient.open(path, SHELL, ADMIN);
      (await agent.stream()).accept();
      await client.got('opened');
      client.close();
      const reply = await api.http.get(`service/${one.service}/exec`);
      const { message } = reply.json<{ message: string }>();
      expect(reply).toMatchObject({ status: 426, headers: { status: message } });
    });
    test('H686: a stream has a line in the audit log, with the program and never its words', async () => {
      const { client } = await opened();
      client.close();
      const lines = await fetch(`${host().url()}/native/api/0.7/audit?action=exec-service`, {
        headers: ADMIN,
      }).then((reply) => reply.text());
      expect(lines).toContain('words=3');
      expect(lines).not.toContain('secret');
    });
    test('H703: a copy carries bytes in one direction, and its exit code says that it is whole', async () => {
      const url = pathOf(one.service, 'files');
      const into = { type: 'files-in', path: '/srv', name: 'data', bytes: 5 };
      const client = await StreamClient.open(url, into, ADMIN);
      const stream = await agent.stream();
      expect(stream.opening.target).toEqual({ kind: 'files-in', path: '/srv', name: 'data', bytes: 5 });
      stream.accept();
      await client.got('opened');
      client.write('bytes');
      client.send({ type: 'end' });
      await eventually(() => expect(Buffer.from(stream.received).toString()).toBe('bytes'));
      stream.end(0);
      expect(await client.got('end')).toEqual({ type: 'end', exit_code: 0 });
      const wrong = [
        { ...into, path: 'srv' },
        { ...into, name: '../up' },
        { ...into, bytes: -1 },
        { type: 'files-out', path: '/a\0', form: 'tar' },
        SHELL,
      ];
      for (const request of wrong) {
        const refused = await StreamClient.open(url, request, ADMIN);
        expect((await refused.got('reset')).message).toContain('must be a request of the kind files');
      }
    });
    const download = (path: string, headers: Record<string, string> = ADMIN, form = 'file', method = 'GET') =>
      fetch(`${pathOf(one.service, 'files')}?${new URLSearchParams({ path, form })}`, { method, headers });
    test('H706: a file is answered as an attachment, and no faster than it is read', async () => {
      const answer = download('/srv/<b>ä.html');
      const stream = await agent.stream();
      expect(stream.opening.target).toEqual({ kind: 'files-out', path: '/srv/<b>ä.html', form: 'file' });
      stream.accept();
      const bytes = Buffer.alloc(3 * WINDOW_BYTES, 'b');
      const written = stream.write(bytes);
      const { status, headers, body } = await answer;
      expect([status, headers.get('content-type'), headers.get('x-content-type-options')]).toEqual([
        ...[200, 'application/octet-stream', 'nosniff'],
      ]);
      expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''%3Cb%3E%C3%A4.html");
      expect(stream.mostCredit).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
      const read = new Response(body).arrayBuffer();
      await written;
      stream.end(0);
      expect(Buffer.compare(Buffer.from(await read), bytes)).toBe(0);
    });
    test('H706: a file that is not there is 409 with the reason, and one that breaks off is no whole answer', async () => {
      const missing = download('/none');
      const first = await agent.stream();
      first.accept();
      first.reset('none: no such file or folder');
      const { status } = await missing;
      expect([status, await missing.then((answer) => answer.text())]).toEqual([
        ...[409, expect.stringContaining('none: no such file or folder')],
      ]);
      const broken = download('/srv/f');
      const second = await agent.stream(1);
      second.accept();
      await second.write('part');
      const { body } = await broken;
      second.reset('the service has ended');
      await expect(new Response(body).text()).rejects.toThrow();
      expect((await download('relative')).status).toBe(400);
      expect((await download('/a', { ...ADMIN, origin: 'https://evil.example.org' })).status).toBe(403);
      expect((await download('/a', {})).status).toBe(401);
    });
    test('H707: a folder is answered as a tar archive that has its name', async () => {
      const answer = download('/srv/d ata/', ADMIN, 'tar');
      const stream = await agent.stream();
      expect(stream.opening.target).toEqual({ kind: 'files-out', path: '/srv/d ata/', form: 'tar' });
      stream.accept();
      await stream.write('archive');
      stream.end(0);
      const { status, headers } = await answer;
      expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
        ...[200, 'application/x-tar', "attachment; filename*=UTF-8''d%20ata.tar"],
      ]);
      expect(await (await answer).text()).toBe('archive');
      expect((await download('/srv', ADMIN, 'zip')).status).toBe(400);
    });
    test('H705: neither a request of the method HEAD nor a client that leaves keeps a stream open', async () => {
      const head = download('/srv/f', ADMIN, 'file', 'HEAD');
      const first = await agent.stream();
      first.accept();
      await first.write('content');
      expect((await head).status).toBe(200);
      await eventually(() => expect(first.messages.at(-1)).toMatchObject({ type: 'channel.reset' }));
      const answer = download('/srv/f');
      const second = await agent.stream(1);
      second.accept();
      // Waits for credit that never comes.
      second.write(Buffer.alloc(8 * WINDOW_BYTES)).catch(() => {});
      const reader = (await answer).body?.getReader();
      await reader?.read();
      await reader?.cancel();
      await eventually(() => expect(second.messages.at(-1)).toMatchObject({ type: 'channel.reset' }));
    });
    test('H834, H835: a command whose connection breaks off goes on at the next one of its user, until that leaves', async () => {
      const { client, stream } = await opened(RESUMABLE);
      const { session } = await client.got('opened');
      await stream.write('one');
      client.write('abc');
      await eventually(() => client.output.toString() === 'one' && stream.received.length === 3);
      client.cut();
      await stream.write('two');
      const resume = { type: 'resume', session, received: 3 };
      await new AccountClient(host).addUser(`user${tests}`, { role_id: 1 });
      const other = await open(resume, basic(`user${tests}`, 'secret words'));
      expect((await other.got('reset')).message).toContain('There is no such stream to resume');
      const next = await open(resume);
      expect(await next.got('resumed')).toEqual({ type: 'resumed', taken: 3, credit: WINDOW_BYTES - 3 });
      next.write('def');
      await eventually(() => expect(Buffer.from(stream.received).toString()).toBe('abcdef'));
      await eventually(() => expect(next.output.toString()).toBe('two'));
      const third = await open({ ...resume, received: 6 });
      await third.got('resumed');
      expect((await next.got('reset')).message).toContain('goes on at another connection');
      expect(stream.messages).toEqual([]);
      third.close(1000);
      await eventually(() => expect(stream.messages.at(-1)).toMatchObject({ type: 'channel.reset' }));
      expect((await (await open(resume)).got('reset')).message).toContain('There is no such stream');
    });
    test('H836: a client that comes back after the end of its command gets the rest, and then it is forgotten', async () => {
      const { client, stream } = await opened(RESUMABLE);
      const { session } = await client.got('opened');
      client.cut();
      await stream.write('last words');
      stream.end(4);
      const resume = { type: 'resume', session, received: 0 };
      const next = await open(resume);
      expect(await next.got('end')).toEqual({ type: 'end', exit_code: 4 });
      expect([next.output.toString(), await next.closed()]).toEqual(['last words', 1000]);
      await eventually(async () => {
        const late = await open(resume);
        await eventually(() => late.messages.length > 0);
        return late.messages.some(({ type }) => type === 'reset');
      });
    });
    test('L167: the pings of a client are answered', async () => {
      const { client } = await opened();
      await client.pinged();
      client.close();
    });
    test('H704, H708: copies are in the audit log with their paths, each one field, and what they hold is not', async () => {
      const into = { type: 'files-in', path: '/srv/a,b command=x', name: 'my data' };
      const client = await StreamClient.open(pathOf(one.service, 'files'), into, ADMIN);
      (await agent.stream()).accept();
      await client.got('opened');
      client.write('secret content');
      client.close();
      const lines = await fetch(`${host().url()}/native/api/0.7/audit?action=copy-files`, {
        headers: ADMIN,
      }).then((reply) => reply.text());
      const fields = ['in', 'path=/srv/a?b command=x', 'name=my data'];
      expect(Object.values(JSON.parse(lines))).toContainEqual(expect.objectContaining({ fields }));
      expect(lines).not.toContain('secret');
    });
  },
);
