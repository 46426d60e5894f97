/** A control plane and an agent that receive one or two signals while they have work to do. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOn, dial } from '../../../support/clients/raw-http.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let berth: Berth;
let agent: Program;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-signals', env: { BERTH_LOCAL_AGENT: 'off' } });
  agent = berth.startAgent();
  await agent.waitFor(/session\.synced/);
});

afterAll(() => berth.close(agent));

const idle = () => application(script('echo output; exec sleep 1000'));

/** Sends the head of a submission without its body. */
async function halfSubmitted(): Promise<{ socket: Socket; body: string }> {
  const body = JSON.stringify({ name: 'under way', application: idle() });
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  const head = [
    'POST /api/0.7/execution HTTP/1.1',
    'Host: berth',
    `Authorization: ${authorization}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Expect: 100-continue',
  ];
  const socket = dial(berth.url, `${head.join('\r\n')}\r\n\r\n`);
  const [said] = await once(socket, 'data');
  expect(String(said)).toMatch(/^HTTP\/1\.1 100 /);
  return { socket, body };
}

test('H270: a request that is under way at SIGTERM is answered, and new connections are refused', async () => {
  const { socket, body } = await halfSubmitted();
  process.kill(berth.program.pid, 'SIGTERM');
  await eventually(async () => {
    const refused = await fetch(berth.url).catch(({ cause }) => cause.code);
    return expect(refused).toBe('ECONNREFUSED');
  });
  socket.write(body);
  const reply = await answerOn(socket);
  expect(reply.status).toBe(200);
  const { execution_id } = JSON.parse(reply.body);
  expect(await berth.program.waitForEnd()).toBe(0);
  await berth.start();
  await berth.api.waitFor(execution_id, 'running');
  await berth.api.end(execution_id);
});

test('H271: a second signal ends the control plane at once', async () => {
  const { socket } = await halfSubmitted();
  process.kill(berth.program.pid, 'SIGTERM');
  process.kill(berth.program.pid, 'SIGINT');
  expect(await berth.program.waitForEnd()).toBe(1);
  socket.destroy();
  await berth.start();
});

test('P70: an agent that receives SIGTERM leaves its containers running and manages them after its restart', async () => {
  const id = await berth.api.run(idle());
  const [before] = await berth.containersOf(id);
  expect(await agent.stop()).toBe(0);
  expect(await berth.containersOf(id)).toMatchObject([{ Id: before?.Id, State: 'running' }]);
  agent = berth.startAgent();
  await agent.waitFor(/session\.synced/);
  expect(await berth.containersOf(id)).toMatchObject([{ Id: before?.Id, State: 'running' }]);
  await berth.api.end(id);
  expect(await berth.api.logText(id)).toBe('output\n');
});

test('P70: a second signal ends an agent at once, whatever it waits for', async () => {
  // The stopped control plane does not answer the agent's close.
  process.kill(berth.program.pid, 'SIGSTOP');
  try {
    process.kill(agent.pid, 'SIGTERM');
    process.kill(agent.pid, 'SIGINT');
    expect(await agent.waitForEnd()).toBe(130);
  } finally {
    process.kill(berth.program.pid, 'SIGCONT');
  }
  agent = berth.startAgent();
  await agent.waitFor(/session\.synced/);
});
