/** Attacks on the queue, on what others submit, and on accounts. */
import { randomBytes } from 'node:crypto';
import { application } from '../../../test/support/fixtures/descriptions.ts';
import { type Attack, judge, Skipped, safe, vulnerable } from '../attack.ts';
import { executionOf, serviceOf, submit, trySubmit, waiting } from '../target/executions.ts';
import { whileOthers } from './others-served.ts';

const CHANGES = 200;
/** Without a bound it took up to 10 s. */
const MAX_SUBMISSION_MS = 4_000;

const flood: Attack = {
  id: 'queue-flood',
  who: 'a user',
  rules: ['H355', 'H357', 'H358'],
  tries: 'fills the queue by executions that fit nowhere (--queue), until a bound refuses them',
  limitMs: 120_000,
  run: async (target) => {
    const attacker = target.account('attacker');
    const { queue } = target.options;
    for (let n = 0; n < queue; n++) {
      const reply = await trySubmit(target, attacker, application(waiting(target)));
      if (reply.status === 200) continue;
      const retry = reply.headers['retry-after'];
      return judge(
        [
          ...([429, 409].includes(reply.status) ? [] : [`number ${n + 1} was answered ${reply.status}`]),
          ...(reply.status === 429 && retry === undefined ? ['429 came without Retry-After'] : []),
        ],
        `refused with ${reply.status} after ${n} executions, Retry-After ${retry ?? 'absent'}`,
      );
    }
    throw new Skipped(`no bound within ${queue} executions: set --queue beyond BERTH_LIMITS.waitingPerUser`);
  },
};

const instances: Attack = {
  id: 'many-instances',
  who: 'a user',
  rules: ['H360'],
  tries: 'fills the memory by one execution of 100,000 instances',
  run: async (target) => {
    const attacker = target.account('attacker');
    const groups = Array.from({ length: 100 }, (_, n) => ({
      ...waiting(target),
      name: `group${n}`,
      total_count: 1_000,
      essential_count: 1_000,
    }));
    const { status } = await trySubmit(target, attacker, application(...groups));
    if (status === 200) return vulnerable('the execution was accepted');
    return judge([400, 409, 429].includes(status) ? [] : [`answered ${status}`], `refused with ${status}`);
  },
};

const endpoints: Attack = {
  id: 'script-links',
  who: 'a user',
  rules: ['H325'],
  tries: 'lets pages link to a script: endpoints with javascript:, data: and vbscript:, in any case',
  run: async (target) => {
    const accepted: string[] = [];
    for (const url of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      ' javascript:x',
      'vbscript:x',
    ]) {
      const port = { name: 'p', port_number: 80, protocol: 'tcp' as const, url_template: url };
      const body = JSON.stringify(application({ ...waiting(target), ports: [port] }));
      const { status } = await target.send({ method: 'POST', path: 'app_validate', body });
      if (status !== 400) accepted.push(`${url} was answered ${status}`);
    }
    return judge(accepted, 'all were refused with 400');
  },
};

const otherExecutions: Attack = {
  id: 'other-executions',
  who: 'a user',
  rules: ['H34', 'H33'],
  tries: "reads, explains, terminates and deletes another user's execution, and reads its output",
  run: async (target) => {
    const attacker = target.ordinaryAttacker();
    const victim = target.account('victim');
    const id = await submit(target, victim, waiting(target));
    const service = await serviceOf(target, victim, id);
    const paths = (execution: number, of: number) =>
      [
        ['GET', `execution/${execution}`],
        ['GET', `execution/${execution}/explain`],
        ['GET', `execution/endpoints/${execution}`],
        ['GET', `service/${of}`],
        ['GET', `service/logs/${of}`],
        ['DELETE', `execution/${execution}`],
        ['DELETE', `execution/delete/${execution}`],
      ] as const;
    const unknown = paths(999_999_999_999, 999_999_999_999);
    const problems: string[] = [];
    for (const [at, [method, path]] of paths(id, service).entries()) {
      const reply = await target.sendAs(attacker, method, path);
      const [, nothing = ''] = unknown[at] ?? [];
      const missing = await target.sendAs(attacker, method, nothing);
      const shown = (text: string) => text.replaceAll(/\d+/g, 'N');
      if (reply.status !== missing.status || shown(reply.text) !== shown(missing.text))
        problems.push(
          `${method} ${path} was answered ${reply.status}, and ${missing.status} for an unknown id`,
        );
    }
    const list = await target.sendAs(attacker, 'GET', 'execution');
    if (Object.hasOwn(JSON.parse(list.text) as object, String(id))) problems.push('the list has it');
    const { status } = await executionOf(target, victim, id);
    if (status === 'terminated') problems.push('it was terminated');
    return judge(problems, 'every request was answered as for an execution that does not exist');
  },
};

const administration: Attack = {
  id: 'administration',
  who: 'a user',
  rules: ['H200', 'H91'],
  tries: 'makes a user, a role, a quota and a join token, and gives itself another role',
  run: async (target) => {
    const attacker = target.ordinaryAttacker();
    const made: string[] = [];
    const requests: readonly [string, object][] = [
      ['user', { username: 'berth-attack', role_id: 1, quota_id: 1 }],
      ['role', { name: 'berth-attack' }],
      ['quota', { name: 'berth-attack', concurrent_executions: 0, memory: 0, cores: 0 }],
      ['host/token', {}],
      // The role that it has: a refusal does not depend on the value.
      [`user/${attacker.id ?? 0}`, { role_id: attacker.roleId ?? 1 }],
    ];
    for (const [path, value] of requests) {
      const { status, text } = await target.sendAs(attacker, 'POST', path, value);
      const [, id] = /^\{"\w+_id":(\d+)\}$/.exec(text) ?? [];
      if (id !== undefined)
        target.ofAttack.add(() => target.undo(attacker, 'DELETE', `${path}/${id}`, [200]));
      if (![403, 404].includes(status)) made.push(`POST ${path} was answered ${status}`);
    }
    return made.length > 0 ? vulnerable(made.join('; ')) : safe('every request was refused');
  },
};

const manyChanges: Attack = {
  id: 'many-changes',
  who: 'a user',
  rules: ['C330', 'C331'],
  tries: `delays the submissions of another user by ${CHANGES} changes and ${CHANGES} explanations at a moment`,
  run: async (target) => {
    const [attacker, victim] = [target.account('attacker'), target.account('victim')];
    const id = await submit(target, attacker, waiting(target));
    const token = { name: 'berth-attack', scopes: ['read'] };
    target.ofAttack.add(async () => {
      const { text } = await target.undo(attacker, 'GET', 'token', [200, 404]);
      for (const [, own] of text.matchAll(/"id":(\d+),"name":"berth-attack/g))
        await target.undo(attacker, 'DELETE', `token/${own}`, [200, 404]);
    });
    const burst = Array.from({ length: CHANGES }, (_, n) => [
      target.sendAs(attacker, 'POST', 'token', { ...token, name: `berth-attack-${n % 10}` }),
      target.sendAs(attacker, 'GET', `execution/${id}/explain`),
    ]).flat();
    const { done, slowestMs, problems } = await whileOthers(target, async () => {
      const startMs = performance.now();
      await submit(target, victim, waiting(target));
      const tookMs = performance.now() - startMs;
      await Promise.all(burst);
      return tookMs;
    });
    if (done > MAX_SUBMISSION_MS) problems.push('the submission took too long');
    return judge(problems, `it took ${done.toFixed(0)} ms; others waited at most ${slowestMs.toFixed(0)} ms`);
  },
};

const inheritedFiles: Attack = {
  id: 'inherited-files',
  who: 'a user',
  rules: ['H754'],
  tries:
    'gets the files of a deleted user, by the same name and the number that was free again (needs --admin)',
  run: async (target) => {
    const admin = target.account('admin');
    const { roleId: role_id } = target.account('victim');
    const username = `attack-heir-${randomBytes(4).toString('hex')}`;
    const numbers: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      const fields = { username, role_id, quota_id: 1 };
      const { user_id: id } = await target.jsonAs<{ user_id: number }>(admin, 'POST', 'user', fields);
      target.ofAttack.add(() => target.undo(admin, 'DELETE', `user/${id}`, [200, 404]));
      const { user } = await target.jsonAs<{ user: { fs_uid: unknown } }>(admin, 'GET', `user/${id}`);
      numbers.push(user.fs_uid);
      await target.undo(admin, 'DELETE', `user/${id}`, [200]);
    }
    const [first, second] = numbers;
    return judge(
      first === second ? [`both users have the fs_uid ${first}`] : [],
      'the number is another one',
    );
  },
};

export const queue: readonly Attack[] = [
  ...[flood, instances, endpoints, otherExecutions, administration],
  ...[manyChanges, inheritedFiles],
];
