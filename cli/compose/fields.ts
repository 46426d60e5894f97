/** The fields of Compose that have no meaning here, with the reasons. Pure. */
import type { Path, Remarks } from './remarks.ts';

/** Reasons by the fields that share them. */
type Reasons = ReadonlyMap<string, string>;

const reasons = (...groups: readonly [fields: string, reason: string][]): Reasons =>
  new Map(groups.flatMap(([fields, reason]) => fields.split(' ').map((field) => [field, reason] as const)));

const SECRETS =
  'Berth keeps such files itself: berth file set, and x-berth: {files: [{name: ..., path: ...}]} at the service';
const NETWORKS = 'services reach each other in a network of their user, by the names of their instances';
const ENGINE = 'Berth decides how a container is isolated';
const DEVICES = 'Berth passes no devices to containers; x-berth: {labels: [...]} chooses hosts';

/** The parts of a file that have a table of their own. */
export const TABLES = {
  top: {
    translated: 'name services',
    leftOut: reasons(
      ['version', 'it has no meaning in Compose any more'],
      ['networks', NETWORKS],
      ['volumes', 'a host keeps no named volumes: mount a folder of the host'],
      ['configs secrets', SECRETS],
      ['models', 'Berth runs containers only'],
    ),
    refused: reasons(['include', 'is not read: docker compose config writes all into one file']),
  },
  service: {
    translated:
      'image command environment env_file ports volumes depends_on deploy scale mem_limit mem_reservation ' +
      'cpus shm_size user working_dir healthcheck restart profiles',
    leftOut: reasons(
      ['entrypoint', "the image's own entry point runs, if it has one, with the words of command"],
      ['build', 'Berth runs images and builds none'],
      ['develop pull_policy pull_refresh_after', 'hosts decide when they pull an image'],
      ['networks network_mode links external_links expose', NETWORKS],
      ['dns dns_opt dns_search extra_hosts mac_address', NETWORKS],
      [
        'hostname domainname container_name',
        'a container has the name of its instance, such as web0-12-local',
      ],
      ['logging', 'hosts keep the output of all services: berth logs'],
      ['stop_grace_period stop_signal', 'a container gets SIGTERM, and SIGKILL 10 s later'],
      [
        'labels annotations label_file',
        'containers have the labels of Berth; x-berth: {labels: [...]} chooses hosts',
      ],
      ['configs secrets', SECRETS],
      [
        'volumes_from tmpfs storage_opt read_only',
        'a container has its own file system and folders of the host',
      ],
      ['cap_add cap_drop privileged security_opt group_add userns_mode credential_spec isolation', ENGINE],
      ['ipc pid uts cgroup cgroup_parent runtime init sysctls ulimits pids_limit', ENGINE],
      ['oom_kill_disable oom_score_adj mem_swappiness memswap_limit use_api_socket', ENGINE],
      [
        'cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpuset',
        'cpus limits the cores',
      ],
      ['blkio_config', ENGINE],
      ['devices device_cgroup_rules gpus models', DEVICES],
      ['platform', 'an image runs on the hosts that can run it; x-berth: {labels: [...]} chooses hosts'],
      ['tty stdin_open attach', 'a container has neither a terminal nor standard input'],
      ['post_start pre_stop provider', 'Berth runs the command of a container only'],
    ),
    refused: reasons(['extends', 'is not read: docker compose config writes it out']),
  },
  deploy: {
    translated: 'mode replicas resources restart_policy',
    leftOut: reasons(
      ['placement', 'x-berth: {labels: [...]} at the service chooses hosts'],
      ['endpoint_mode labels', NETWORKS],
      ['update_config rollback_config', 'an execution never changes: submit another one'],
    ),
  },
  resources: { translated: 'limits reservations', leftOut: reasons() },
  limits: { translated: 'cpus memory', leftOut: reasons(['pids', 'a container has at most 4096 processes']) },
  reservations: {
    translated: 'cpus memory',
    leftOut: reasons(['devices generic_resources', DEVICES]),
  },
  restart_policy: {
    translated: 'condition delay max_attempts window',
    leftOut: reasons(),
  },
  healthcheck: {
    translated: 'test interval timeout retries start_period disable',
    leftOut: reasons(['start_interval', 'while a container starts, it is checked every 5 s']),
  },
  env_file: { translated: 'path required format', leftOut: reasons() },
  port: {
    translated: 'target published protocol app_protocol name',
    leftOut: reasons(['mode host_ip', 'the host publishes the port on a free port of its own']),
  },
  volume: {
    translated: 'type source target read_only',
    leftOut: reasons(['bind volume tmpfs image consistency', 'a folder of the host is mounted as it is']),
  },
  dependency: {
    translated: 'condition required',
    leftOut: reasons(['restart', 'a service that starts again does not start others again']),
  },
} satisfies Record<string, { translated: string; leftOut: Reasons; refused?: Reasons }>;

/** Says of each field that is not translated why it is left out, or that Compose has no such field. */
export function reviewFields(value: unknown, path: Path, table: keyof typeof TABLES, remarks: Remarks): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const { translated, leftOut, refused }: { translated: string; leftOut: Reasons; refused?: Reasons } =
    TABLES[table];
  const known = new Set(translated.split(' '));
  for (const [field, given] of Object.entries(value)) {
    if (known.has(field) || given === null || field.startsWith('x-')) continue;
    const inner = [...path, field];
    const reason = leftOut.get(field);
    const refusal = refused?.get(field);
    if (reason !== undefined) remarks.leaveOut(inner, reason);
    else
      remarks.problem(
        inner,
        refusal ?? `is not a field of Compose at this place; Berth reads ${[...known].join(', ')}`,
      );
  }
}
