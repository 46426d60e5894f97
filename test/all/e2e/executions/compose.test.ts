/** A Compose file from `berth run` to the end of its execution. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IMAGE } from '../../../../examples/image.ts';
import { CommandLine } from '../../../support/clients/command-line.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let berth: Berth;
let home: string;
let cli: CommandLine;

beforeAll(async () => {
  home = await scratchFolder('berth-home-');
  berth = await startBerth({ deployment: 'e2e-compose' });
  cli = new CommandLine(home, { WHOM: 'you' });
  await cli.logIn(berth.url, PASSWORD);
});
afterAll(async () => {
  await berth.close();
  await rm(home, { recursive: true, force: true });
});

const fileOf = (end: string): string => `
x-berth: {size: 3}
services:
  store:
    image: &image ${IMAGE}
    command: nc -ll -p 7000 -e echo "greetings to \${WHOM:?name somebody}"
    restart: always
    ports: ["7000"]
    healthcheck: {test: nc 127.0.0.1 7000 < /dev/null, interval: 5s}
  client:
    image: *image
    depends_on: {store: {condition: service_healthy}}
    deploy: {resources: {limits: {memory: 64m}}}
    environment: {STORE: "{dns_name#store0}", END: "${end}"}
    command:
      - sh
      - -c
      - nc "$$STORE" 7000; exit "$$END"
`;

test('L70, L76, L79, L139, L140: a Compose file runs to its end, which its job decides, once what it needs is healthy', async () => {
  const path = join(home, 'compose.yaml');
  for (const end of [0, 3]) {
    await writeFile(path, fileOf(String(end)));
    const { code, out } = await cli.run(['run', path, '--follow']);
    expect([code, out]).toEqual([end, 'greetings to you\n']);
  }
});
