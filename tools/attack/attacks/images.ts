/** Attacks by the name of an image, which the engine requests from within the operator's network. */
import type { RequestListener } from 'node:http';
import { type Attack, judge } from '../attack.ts';
import { ended, run, scripted } from '../target/executions.ts';
import { serveDuring } from '../target/server.ts';

const SECRET = 'berth-attack-secret-of-a-service-inside';

const inside: Attack = {
  id: 'image-inside',
  who: 'a user',
  rules: ['P139', 'P140'],
  tries: 'reads a service of the host on loopback by the name of an image',
  run: async (target) => {
    const attacker = target.account('attacker');
    const requests: string[] = [];
    const answer: RequestListener = (request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(200, { 'content-type': 'text/plain' }).end(SECRET);
    };
    const port = await serveDuring(target, answer, '127.0.0.1');
    const problems: string[] = [];
    let refusal = '';
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254']) {
      const image = `${host}:${port}/berth-attack`;
      const id = await run(target, attacker, scripted(target, 'true', { image }));
      const { error_message } = await ended(target, attacker, id);
      refusal = error_message ?? '';
      if (refusal.includes(SECRET)) problems.push(`the error has the answer of ${host}:${port}`);
      if (!/not on a public address|BERTH_AGENT_REGISTRIES/.test(refusal))
        problems.push(`${image} was not refused by its registry: ${refusal.slice(0, 200)}`);
    }
    if (requests.length > 0) problems.push(`the engine requested ${requests[0]} on loopback`);
    return judge(problems, `refused before a request: ${refusal.slice(0, 160)}`);
  },
};

export const images: readonly Attack[] = [inside];
