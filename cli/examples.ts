/** Examples of each command, which end its help. Each is a command line that the program accepts. */
import type { Command } from 'commander';

type Example = readonly [line: string, meaning: string];

/** By the words of a command after `berth`; one to three each. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  '': [
    ['berth login https://berth.example.org', 'once'],
    ['berth run app.json --follow', 'submits an application, and shows its output'],
    ['berth ps', 'the newest executions'],
  ],
  login: [
    ['berth login https://berth.example.org', 'asks for your name and password'],
    [
      'berth login berth.example.org --browser --name lab',
      'as you are logged in there; keeps it as the context lab',
    ],
    ['berth login https://berth.example.org --token', 'asks for a personal access token'],
  ],
  logout: [['berth logout', 'ends the session at the current control plane']],
  context: [['berth context ls', 'the control planes that you have logged in to']],
  'context ls': [['berth context ls', 'the current one has a star']],
  'context use': [['berth context use lab', 'later commands go to lab']],
  'context rm': [['berth context rm lab', 'forgets it, with its session']],
  run: [
    ['berth run app.json --follow', 'submits it, and shows its output until it ends'],
    ['berth run compose.yaml --print', 'what becomes of a Compose file'],
    ["berth run --image debian:13 --wait -- sh -c 'exit 3'", 'exits with 3'],
  ],
  rerun: [
    ['berth rerun 12', 'submits the description of execution 12 again'],
    ['berth rerun 12 --set services.worker.total_count=5 --wait', 'with a change, and waits for its end'],
    ['berth rerun 12 --as-me', 'also if somebody else has described what runs as yours'],
  ],
  ps: [
    ['berth ps', 'the newest 20'],
    ['berth ps --status running --limit 100', 'at most 100 that run'],
    ['berth ps -q --name test', 'ids alone, for scripts'],
  ],
  get: [['berth get 12', 'execution 12 with its services']],
  explain: [
    ['berth explain 12', 'why execution 12 waits'],
    ['berth explain app.json', 'whether it would start now'],
  ],
  endpoints: [['berth endpoints 12', 'names and URLs']],
  exec: [
    ['berth exec -it 12 -- sh', 'a shell in the only service of execution 12'],
    ['berth exec 12/worker0 -- nvidia-smi', 'in the service worker0; exits as the command does'],
    ['berth exec -i 12 -- tee /tmp/in.txt', 'with the standard input'],
  ],
  cp: [
    ['berth cp data 12:/tmp', 'the file or folder data, to /tmp/data of the only service of execution 12'],
    ['berth cp 12/worker0:/srv/results .', 'from the service worker0, to the folder results here'],
    ['berth cp 12:/srv/results -', 'as a tar archive on the standard output'],
  ],
  forward: [
    ['berth forward 12/web0 8080', 'port 8080 of web0, at 127.0.0.1:8080'],
    ['berth forward 12 9000:8080', 'at 127.0.0.1:9000'],
  ],
  open: [
    ['berth open 12', 'the only endpoint, in the browser'],
    ['berth open 12/web:8080', 'that of its port 8080'],
    ['berth open 12 8080 --print', 'the URL of that port alone'],
  ],
  stop: [
    ['berth stop 12 13', 'terminates both'],
    ['berth stop --filter status=queued --filter name=nightly', 'terminates all that match'],
  ],
  limit: [
    ['berth limit 12 90m', 'at most 90 minutes from its placement on'],
    ['berth limit 12 none', 'for ever'],
  ],
  rm: [
    ['berth rm 12 13', 'deletes both with their logs'],
    ['berth rm --filter status=error', 'deletes those that ended with an error'],
  ],
  wait: [
    ['berth wait 12', 'exits with the exit code of the execution'],
    ['berth wait 12 --timeout 60', 'exits with 124 after a minute'],
  ],
  logs: [
    ['berth logs 12', 'what there is, from the beginning'],
    ['berth logs 12 --tail 20 --follow', 'the last 20 lines of each service, and what follows'],
    ['berth logs 12/web0 --since 10m --timestamps', 'the last ten minutes of one service'],
  ],
  shop: [['berth shop ls', 'what there is']],
  'shop ls': [['berth shop ls -q', 'ids alone']],
  'shop get': [['berth shop get elastic-batch-0', 'its parameters, with their defaults and limits']],
  'shop run': [
    ['berth shop run hello-0 --follow', 'with all defaults, and shows its output'],
    ['berth shop run elastic-batch-0 --set service_count:worker=3 --wait', 'with three workers'],
    ['berth shop run hello-0 --print', 'the description alone'],
  ],
  validate: [['berth validate app.json', 'reports all problems']],
  version: [['berth version', 'of this program and of the control plane']],
  server: [['berth server', 'at http://127.0.0.1:5001, until Ctrl-C']],
  'server install': [
    ['berth server install', 'as root: a service of systemd, with the BERTH_* of the environment'],
    ['berth server install --uninstall', 'removes it; its data and settings stay'],
  ],
  agent: [['berth agent', 'with BERTH_URL and BERTH_JOIN_TOKEN of a control plane']],
  demo: [['berth demo', 'shows whether this machine can run containers']],
  backup: [['berth backup /var/backups/berth.db', 'also while the control plane runs']],
  restore: [['berth restore /var/backups/berth.db', 'while the control plane is stopped']],
  'reset-password': [['berth reset-password admin', 'prints a new password']],
  events: [
    ['berth events', 'until Ctrl-C'],
    ['berth events --json', 'for programs'],
  ],
  top: [
    ['berth top', 'until q or Ctrl-C'],
    ['berth top --json', 'once, for programs'],
  ],
  usage: [
    ['berth usage 12', 'memory and cores of each service of execution 12'],
    ['berth usage 12/web0 --json', 'all samples of one service'],
    ['berth usage --host vm1', 'the last hour of a host'],
  ],
  host: [['berth host ls', 'the hosts with what they offer']],
  'host ls': [['berth host ls', 'the hosts with what they offer']],
  'host get': [['berth host get host1', 'with its services and conditions']],
  'host drain': [
    ['berth host drain host1', 'takes no new services'],
    ['berth host drain host1 --force', 'essential services start again elsewhere'],
  ],
  'host resume': [['berth host resume host1', 'takes new services again']],
  'host rm': [['berth host rm host1', 'once it is empty or lost']],
  'host update': [
    ['berth host update host1', 'brings its agent to the release of the control plane'],
    ['berth host update --all', 'one host after the other'],
  ],
  'host token': [
    ['berth host token', 'the command for a new host'],
    ['berth host token --name gpu1 --labels gpu,fast', 'for one host of this name'],
  ],
  user: [['berth user ls', 'all users']],
  'user ls': [
    ['berth user ls', 'all users'],
    ['berth user ls --enabled false', 'those who may not log in'],
  ],
  'user get': [['berth user get ada', 'by name or id']],
  'user create': [
    [
      'berth user create --username ada --role-id user --quota-id default --password',
      'asks for the password',
    ],
  ],
  'user update': [
    ['berth user update ada --quota-id large', 'gives another quota'],
    ['berth user update ada --password', 'asks for a new password'],
  ],
  'user rm': [['berth user rm ada', 'with all executions of ada']],
  role: [['berth role ls', 'all roles with their rights']],
  'role ls': [['berth role ls', 'all roles with their rights']],
  'role get': [['berth role get user', 'by name or id']],
  'role create': [
    [
      'berth role create --name operator --can-access-api true --can-operate-others true',
      'other rights are false',
    ],
  ],
  'role update': [['berth role update operator --can-see-status true', 'changes one right']],
  'role rm': [['berth role rm operator', 'if nobody has it']],
  quota: [['berth quota ls', 'all quotas']],
  'quota ls': [['berth quota ls', 'all quotas']],
  'quota get': [['berth quota get default', 'by name or id']],
  'quota create': [
    [
      'berth quota create --name large --concurrent-executions 20 --memory 256GiB --cores 64',
      '0 would mean no limit',
    ],
  ],
  'quota update': [['berth quota update large --max-time-limit 2d', 'no execution lasts longer']],
  'quota rm': [['berth quota rm large', 'if nobody has it']],
  token: [['berth token ls', 'your personal access tokens']],
  'token create': [
    ['berth token create ci --scope submit', 'valid for 90 days'],
    ['berth token create monitoring --scope read --expires never', 'until you revoke it'],
  ],
  'token ls': [['berth token ls', 'your own']],
  secret: [['berth secret ls', 'your secrets and those of all users, without values']],
  'secret set': [
    ['berth secret set DB_PASSWORD', 'asks for the value'],
    ['berth secret set LICENCE --all', 'for all users, as an administrator'],
  ],
  'secret ls': [['berth secret ls', 'without values']],
  'secret rm': [['berth secret rm DB_PASSWORD', 'by name or id']],
  'secret encrypt': [['berth secret encrypt', 'after a new key was put first in BERTH_SECRET_KEYS']],
  registry: [['berth registry ls', 'for which registries you and all users have credentials']],
  'registry set': [
    ['berth registry set registry.example.org:5000', 'asks for user name and password'],
    ['berth registry set docker.io --username ci', 'the password or token may come from standard input'],
    ['berth registry set ghcr.io --username bot --all', 'for all users, as an administrator'],
  ],
  'registry ls': [['berth registry ls', 'without user names and passwords']],
  'registry rm': [['berth registry rm registry.example.org:5000', 'by host or id']],
  file: [['berth file ls', 'your files and those of all users']],
  'file set': [['berth file set server.pem', 'reads its content from standard input']],
  'file ls': [['berth file ls', 'without their content']],
  'file rm': [['berth file rm server.pem', 'by name or id']],
  'token rm': [['berth token rm ci', 'revokes it, by name or id']],
  audit: [
    ['berth audit --since 7d', 'the latest 50 of what was done in a week'],
    ['berth audit --user ann --action update-user', 'which users ann has changed'],
    ['berth audit --since 25h --limit 0 --json', 'everything, for a copy elsewhere'],
  ],
  completion: [
    ['berth completion bash', 'for ~/.bashrc: source <(berth completion bash)'],
    ['berth completion fish', 'for config.fish: berth completion fish | source'],
  ],
};

/** Adds the examples to the help of the command and of all beneath it. `path`: its words after `berth`. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')] ?? [];
  if (examples.length > 0) command.addHelpText('after', textOf(examples));
  for (const one of command.commands) addExamples(one, [...path, one.name()]);
}

function textOf(examples: readonly Example[]): string {
  const width = Math.max(...examples.map(([line]) => line.length));
  return ['\nExamples:', ...examples.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`)].join(
    '\n',
  );
}
