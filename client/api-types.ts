/** Types of the API's objects, made from its OpenAPI document by `npm run docs`: do not edit. */

export type AgentUpdate = {
  /** The version that the agent is to have */
  version: string;
  /** False if the agent has that version already */
  requested: boolean;
};

/** Application description, format 3 */
export type Application = {
  /** The name of the application: letters, digits, "@" and "-". */
  name: string;
  /** The version of the format. */
  version: 3;
  /** Whether the application ends by itself. It is shown to users and has no other effect. */
  will_end: boolean;
  /**
   * An estimate of the work, in a unit of your choice. The queue policies SIZE and DYNSIZE start smaller
   * sizes first.
   */
  size: number;
  /**
   * Who else may use the web applications of the services: "users" for everybody who is logged in. Absent:
   * only the owner, and roles that may operate the executions of others.
   */
  share?: 'users' | undefined;
  /** The services. At least one of them is a monitor. */
  services: Array<ServiceDescription>;
};

export type AuditEntry = {
  /** Id of the entry */
  id: number;
  /** In seconds since 1970; the first time, if several are counted */
  time: number;
  /** Null without an account */
  user_id: number | null;
  /** Name of the account at the time */
  user: string | null;
  /** What showed who it was */
  credential: 'session' | 'password' | 'ldap' | 'token' | 'personal-token' | 'join-token' | 'oidc' | 'none';
  /** Id of the personal access token */
  token_id: number | null;
  /** Address of the client; for failed logins, its network */
  address: string | null;
  /** X-Request-Id of the answer */
  request_id: string | null;
  /** What was done or refused */
  action: 'submit-execution' | 'terminate-execution' | 'limit-execution' | 'delete-execution' | 'exec-service' | 'forward-port' | 'copy-files' | 'use-app' | 'create-user' | 'update-user' | 'delete-user' | 'create-role' | 'update-role' | 'delete-role' | 'create-quota' | 'update-quota' | 'delete-quota' | 'create-join-token' | 'register-host' | 'update-host' | 'update-agent' | 'remove-host' | 'create-personal-token' | 'revoke-personal-token' | 'set-secret' | 'remove-secret' | 'set-file' | 'remove-file' | 'set-registry' | 'remove-registry' | 'encrypt-secrets' | 'grant-token' | 'revoke-token' | 'log-in' | 'log-out';
  /** Kind and id, like user/7 */
  target: string | null;
  /** Name of the target at the time */
  target_name: string | null;
  /** Names of the fields that were changed */
  fields: Array<string>;
  /** Whether it was done, or why it was refused */
  outcome: 'done' | 'forbidden' | 'unauthenticated' | 'not-found' | 'conflict';
  /** Refusals of one kind within a minute are one entry */
  count: number;
};

export type Discovery = {
  /** The service group, as in the path */
  service_type: string;
  /** The id, as in the path */
  execution_id: string;
  /** The DNS name of each active instance */
  dns_names: Array<string>;
};

export type Endpoints = Array<[string, string]>;

export type ErrorAnswer = {
  /** The kind of the error, for programs: a word that does not change */
  code: 'invalid' | 'unauthenticated' | 'bad-token' | 'forbidden' | 'revoked' | 'unknown-host' | 'not-found' | 'wrong-method' | 'no-websocket' | 'conflict' | 'other-request' | 'too-large' | 'too-many' | 'unavailable' | 'internal';
  /** What is wrong and what to do, for people; it may change */
  message: string;
  /** Problems of an application description */
  problems?: Array<{
    /** JSON pointer (RFC 6901) */
    pointer: string;
    /** What is wrong there, for people */
    message: string;
  }> | undefined;
};

export type Execution = {
  /** Id of the execution */
  id: number;
  /** The name that it was submitted with */
  name: string;
  /** The user who submitted the execution */
  user_id: number;
  /** Its state */
  status: 'submitted' | 'queued' | 'starting' | 'running' | 'cleaning up' | 'terminated' | 'error';
  /** Null unless the status is error */
  error_message: string | null;
  /** When it was submitted, in seconds since the epoch (UTC) */
  time_submit: number;
  /** When all its essential services had started, in seconds since the epoch (UTC) */
  time_start: number | null;
  /** When it ended, in seconds since the epoch (UTC) */
  time_end: number | null;
  /** Ids of its services */
  services: Array<number>;
  /** How long it may last from its placement on, in seconds; only under /native/api/0.7 */
  time_limit?: number | null | undefined;
  /** What it waits for, in lists below /native only, while it is queued and if that is known */
  waiting_for?: Array<string> | undefined;
  /** The application description, as it was submitted */
  description: Application;
};

export type Explanation = {
  /** Null for an application that was not submitted */
  status: 'submitted' | 'queued' | 'starting' | 'running' | 'cleaning up' | 'terminated' | 'error' | null;
  /** A sentence for people */
  summary: string;
  /** Position in the queue; 1 is next */
  position: number | null;
  /** Executions in the queue; null if it is not queued */
  queue_length: number | null;
  /** What it waits for */
  waiting_for: Array<string>;
  /** Why hosts do not take its services */
  reasons: Array<Reason>;
  /** Limits of the user's quota, and the bound on instances of all users, that it would exceed */
  quota: Array<QuotaReason>;
  /** What the start of a queued execution requires */
  demand: {
    /** Bytes that hosts must have free */
    memory: number;
    /** Cores that hosts must have free, and that count under the quota */
    cores: number;
    /** Bytes that its services may use, which count under the quota */
    memory_limit: number;
  } | null;
  /** Id of the execution whose backfill reservation alone prevents the start */
  backfill_reserved_for: number | null;
  /** When a failed start is retried, in seconds since the epoch (UTC) */
  retry_at: number | null;
  /** Whether it would fit if nothing else ran */
  fits_when_idle: boolean | null;
  /** Where its instances would be placed; null if it does not fit */
  placement: Array<{
    /** Name of the host */
    host: string;
    /** Names of the instances that it would take */
    instances: Array<string>;
  }> | null;
};

export type Host = {
  /** Id of the host */
  id: number;
  /** Name of the host, unique in the deployment */
  name: string;
  /** The address at which clients reach its published ports */
  address: string;
  /** A summary; only a ready host takes new services */
  state: 'ready' | 'paused' | 'draining' | 'drained' | 'disconnected' | 'lost';
  /** Whether its agent is connected */
  connected: boolean;
  /** Whether its agent has been silent for longer than the loss timeout */
  lost: boolean;
  /** False while it is drained */
  schedulable: boolean;
  /** The labels of its agent and those of the administrator */
  labels: Array<string>;
  /** The labels that an administrator gave */
  admin_labels: Array<string>;
  /** What its agent offers beyond what was agreed, which waits for "accept"; null if nothing */
  pending: HostOffer | null;
  /** Bytes */
  memory_total: number;
  /** Bytes */
  memory_reserved: number;
  /**
   * Sum of the memory limits of its services in bytes, defaults included; a service without a limit counts 0
   */
  memory_limits: number;
  /** Bytes that its containers really use; null if not known */
  memory_used: number | null;
  /** Cores */
  cores_total: number;
  /** Cores */
  cores_reserved: number;
  /** Cores that its containers really use; null if not known */
  cores_used: number | null;
  /** Containers that are to run there */
  containers: number;
  /** Version of its agent */
  agent_version: string;
  /** Version of its Docker engine */
  engine_version: string;
  /** Time of the last contact, in seconds since the epoch (UTC) */
  last_contact: number;
  /** Faults of the host that its agent reports */
  conditions: Array<{
    /** The kind of the fault, for programs */
    kind: string;
    /** A sentence for people */
    text: string;
  }>;
};

export type HostChanges = {
  /** False drains the host: elastic services leave, essential services stay */
  schedulable?: boolean | undefined;
  /** The labels of the administrator, which are added to those of its agent */
  labels?: Array<string> | undefined;
  /** The "pending" of the host, unchanged: from now on it is agreed */
  accept?: {
    /** Labels */
    labels: Array<string>;
    /** Bytes */
    memory: number;
    /** Cores */
    cores: number;
  } | undefined;
  /** Allowed with schedulable false: essential services also leave */
  force?: boolean | undefined;
};

export type HostDetail = {
  /** Id of the host */
  id: number;
  /** Name of the host, unique in the deployment */
  name: string;
  /** The address at which clients reach its published ports */
  address: string;
  /** A summary; only a ready host takes new services */
  state: 'ready' | 'paused' | 'draining' | 'drained' | 'disconnected' | 'lost';
  /** Whether its agent is connected */
  connected: boolean;
  /** Whether its agent has been silent for longer than the loss timeout */
  lost: boolean;
  /** False while it is drained */
  schedulable: boolean;
  /** The labels of its agent and those of the administrator */
  labels: Array<string>;
  /** The labels that an administrator gave */
  admin_labels: Array<string>;
  /** What its agent offers beyond what was agreed, which waits for "accept"; null if nothing */
  pending: HostOffer | null;
  /** Bytes */
  memory_total: number;
  /** Bytes */
  memory_reserved: number;
  /**
   * Sum of the memory limits of its services in bytes, defaults included; a service without a limit counts 0
   */
  memory_limits: number;
  /** Bytes that its containers really use; null if not known */
  memory_used: number | null;
  /** Cores */
  cores_total: number;
  /** Cores */
  cores_reserved: number;
  /** Cores that its containers really use; null if not known */
  cores_used: number | null;
  /** Containers that are to run there */
  containers: number;
  /** Version of its agent */
  agent_version: string;
  /** Version of its Docker engine */
  engine_version: string;
  /** Time of the last contact, in seconds since the epoch (UTC) */
  last_contact: number;
  /** Faults of the host that its agent reports */
  conditions: Array<{
    /** The kind of the fault, for programs */
    kind: string;
    /** A sentence for people */
    text: string;
  }>;
  /** Services that are placed there, or whose containers may still be there */
  services: Array<HostService>;
};

export type HostOffer = {
  /** Labels */
  labels: Array<string>;
  /** Bytes */
  memory: number;
  /** Cores */
  cores: number;
};

export type HostRemoval = {
  /** A text for people */
  message: string;
  /** Ids of the executions that return to the queue */
  requeued: Array<number>;
  /** Number of containers that may still be there */
  left_behind: number;
};

export type HostService = {
  /** Id of the service */
  id: number;
  /** The service group and a number */
  name: string;
  /** Id of the execution */
  execution_id: number;
  /** Whether its execution needs it to run */
  essential: boolean;
  /** State of the service */
  status: 'inactive' | 'starting' | 'active' | 'terminating';
  /** State of the container when the host last reported it */
  backend_status: 'undefined' | 'created' | 'started' | 'dead' | 'destroyed';
};

export type HostUsage = {
  /** Samples of the last hour, oldest first; the last one is of now */
  samples: Array<{
    /** In seconds since 1970 */
    time: number;
    /** In bytes */
    memory_reserved: number;
    /** In bytes; null if it was not known */
    memory_used: number | null;
    /** Cores */
    cores_reserved: number;
    /** Null if it was not known */
    cores_used: number | null;
  }>;
  /** In bytes */
  memory_total: number;
  /** Cores */
  cores_total: number;
};

export type Info = {
  /** Release of Berth */
  version: string;
  /** Name of this deployment; several may share a cluster */
  deployment_name: string;
  /** Version of the format of descriptions */
  application_format_version: number;
  /** Version of the API, as in the path */
  api_version: string;
};

export type JoinToken = {
  /** The token for one agent, as its BERTH_JOIN_TOKEN; it cannot be read again later */
  token: string;
  /** When it expires, in seconds since the epoch (UTC) */
  expires_at: number;
  /** The SHA-256 checksum of the agent, which the install script compares (BERTH_BUNDLE_SHA256) */
  agent_sha256: string;
  /** The command that, run as root, makes a machine a host with this token */
  install?: string | undefined;
  /** Why other machines cannot use the command */
  warning?: string | undefined;
};

export type JoinTokenFields = {
  /** The only name that the host may have; absent: any */
  name?: string | undefined;
  /** The labels of the administrator for the host */
  labels?: Array<string> | undefined;
};

export type Login = {
  /** Who has logged in */
  user: User;
};

export type NewPersonalToken = {
  /** Id of the token */
  token_id: number;
  /** The personal access token, which cannot be read again later */
  token: string;
  /** When it expires; null: never, in seconds since 1970 */
  expires_at: number | null;
};

export type PersonalToken = {
  /** Id of the token */
  id: number;
  /** What the token is for */
  name: string;
  /** Id of the user */
  user_id: number;
  /** What it may do, within what the role allows */
  scopes: Array<'read' | 'submit' | 'operate' | 'admin'>;
  /** When it was created, in seconds since 1970 */
  created_at: number;
  /** When it expires; null: never, in seconds since 1970 */
  expires_at: number | null;
  /** The minute of its last use; null: none, in seconds since 1970 */
  last_used_at: number | null;
};

export type PersonalTokenFields = {
  /** What the token is for */
  name: string;
  /** What it may do, within what your role allows */
  scopes: Array<'read' | 'submit' | 'operate' | 'admin'>;
  /** Days for which it is valid; null: for ever. By default 90, or less where the operator says so */
  expires_days?: number | null | undefined;
  /** Required unless the request has it as HTTP Basic */
  current_password?: string | undefined;
};

export type Quota = {
  /** Id of the quota */
  id: number;
  /** Name of the quota */
  name: string;
  /** Executions that may be placed at a time; 0: any number */
  concurrent_executions: number;
  /** Bytes of all placed executions together; 0: no limit */
  memory: number;
  /** Cores of all placed executions together; 0: no limit. A whole number, except below Berth's own path */
  cores: number;
  /** How long an execution lasts by default; 0: no limit, in seconds; only under /native/api/0.7 */
  time_limit?: number | undefined;
  /** The longest time limit of an execution; 0: any or none, in seconds; only under /native/api/0.7 */
  max_time_limit?: number | undefined;
};

export type QuotaChanges = {
  /** Name of the quota */
  name?: string | undefined;
  /** Executions that may be placed at a time; 0: any number */
  concurrent_executions?: number | undefined;
  /** Bytes of all placed executions together; 0: no limit */
  memory?: number | undefined;
  /** Cores of all placed executions together; 0: no limit */
  cores?: number | undefined;
  /** How long an execution lasts by default, in seconds; 0: no limit */
  time_limit?: number | undefined;
  /** The longest time limit of an execution, in seconds; 0: any or none */
  max_time_limit?: number | undefined;
};

export type QuotaFields = {
  /** Name of the quota */
  name: string;
  /** Executions that may be placed at a time; 0: any number */
  concurrent_executions: number;
  /** Bytes of all placed executions together; 0: no limit */
  memory: number;
  /** Cores of all placed executions together; 0: no limit */
  cores: number;
  /** How long an execution lasts by default, in seconds; 0: no limit */
  time_limit?: number | undefined;
  /** The longest time limit of an execution, in seconds; 0: any or none */
  max_time_limit?: number | undefined;
};

export type QuotaReason = {
  /** What is limited */
  dimension: 'executions' | 'memory' | 'cores' | 'instances';
  /** The limit: a number, bytes or cores */
  limit: number;
  /** What is in use */
  used: number;
  /** What the execution would add */
  wanted: number;
  /** The excess over the limit */
  over: number;
  /** A sentence for people */
  text: string;
};

export type Reason = {
  /** The first of the service instances with the same requirements */
  instance: string;
  /** Number of instances with these requirements */
  instances: number;
  /** The condition that these hosts fail */
  filter: 'schedulable' | 'labels' | 'secret-files' | 'memory' | 'cores';
  /** Number of hosts that fail the filter */
  hosts: number;
  /** Number of hosts that passed all earlier filters */
  of_hosts: number;
  /** Bytes or cores that the closest of these hosts lacks */
  missing: number | null;
  /** Total bytes or cores of the largest of these hosts */
  largest: number | null;
  /** The labels that hosts lack, for the filter labels */
  labels: Array<string> | null;
  /** A sentence for people */
  text: string;
};

export type RegistryCredentials = {
  /** Id of the credentials */
  id: number;
  /** Host of the registry, and its port if image names have it */
  registry: string;
  /** Whether the pulls of all users use them */
  for_all: boolean;
  /** When they were set, in seconds since 1970 */
  set_at: number;
};

export type Role = {
  /** Id of the role */
  id: number;
  /** Name of the role */
  name: string;
  /** May change users, roles, quotas and hosts, and read the audit log */
  can_change_config: boolean;
  /** May delete executions, not only terminate them */
  can_delete_executions: boolean;
  /** May see the hosts of the cluster */
  can_see_status: boolean;
  /** Sees every application of the shop */
  can_access_full_app_shop: boolean;
  /** May read and operate the executions of others */
  can_operate_others: boolean;
  /** May change memory and cores of applications of the shop */
  can_customize_resources: boolean;
  /** May use the API and log in */
  can_access_api: boolean;
  /** May run commands in services; only under /native */
  can_exec?: boolean | undefined;
};

export type RoleChanges = {
  /** May change users, roles, quotas and hosts, and read the audit log */
  can_change_config?: boolean | undefined;
  /** May delete executions, not only terminate them */
  can_delete_executions?: boolean | undefined;
  /** May see the hosts of the cluster */
  can_see_status?: boolean | undefined;
  /** Sees every application of the shop */
  can_access_full_app_shop?: boolean | undefined;
  /** May read and operate the executions of others */
  can_operate_others?: boolean | undefined;
  /** May change memory and cores of applications of the shop */
  can_customize_resources?: boolean | undefined;
  /** May use the API and log in */
  can_access_api?: boolean | undefined;
  /** May run commands in services */
  can_exec?: boolean | undefined;
  /** Name of the role */
  name?: string | undefined;
};

export type RoleFields = {
  /** Name of the role */
  name: string;
  /** May change users, roles, quotas and hosts, and read the audit log */
  can_change_config?: boolean | undefined;
  /** May delete executions, not only terminate them */
  can_delete_executions?: boolean | undefined;
  /** May see the hosts of the cluster */
  can_see_status?: boolean | undefined;
  /** Sees every application of the shop */
  can_access_full_app_shop?: boolean | undefined;
  /** May read and operate the executions of others */
  can_operate_others?: boolean | undefined;
  /** May change memory and cores of applications of the shop */
  can_customize_resources?: boolean | undefined;
  /** May use the API and log in */
  can_access_api?: boolean | undefined;
  /** May run commands in services */
  can_exec?: boolean | undefined;
};

export type SchedulerStatistics = {
  /** Executions that are being cleaned up */
  termination_threads_count: number;
  /** Executions that are queued */
  queue_length: number;
  /** What waits */
  queue: {
    /** Executions that are queued */
    executions: number;
    /** When the execution that has been queued longest was submitted, in seconds since the epoch (UTC) */
    oldest_submit: number | null;
  };
  /** What is placed on hosts */
  running: {
    /** Executions that are starting or running */
    executions: number;
    /** Those of them that are starting */
    starting: number;
    /** Containers that are to run */
    containers: number;
  };
  /** Hosts of the cluster; amounts are sums over the connected ones */
  hosts: {
    /** Hosts that have joined and were not removed */
    known: number;
    /** Hosts whose agent is connected */
    connected: number;
    /** Hosts that are connected and take new services */
    schedulable: number;
    /** Bytes */
    memory_total: number;
    /** Bytes */
    memory_reserved: number;
    /** Cores */
    cores_total: number;
    /** Cores */
    cores_reserved: number;
  };
  /** How long ended executions are kept */
  history: {
    /** 0: for ever */
    keep_ended_days: number;
    /** Executions removed after these days, since the start */
    removed: number;
    /** When the history was last reviewed to its end, in seconds since the epoch (UTC) */
    reviewed: number | null;
  };
  /** How long the objects on Cloudflare were awake; null on Node */
  awake: {
    /** The object that schedules */
    coordinator: {
      /** The beginning of the count, in seconds since the epoch (UTC) */
      since: number;
      /** How often work began after a sleep */
      wakes: number;
      /** Seconds */
      awake: number;
      /** Seconds, with those before each sleep */
      in_memory: number;
    };
    /** The objects of the agents together; null while none was awake */
    gateways: {
      /** The beginning of the count, in seconds since the epoch (UTC) */
      since: number;
      /** How often work began after a sleep */
      wakes: number;
      /** Seconds */
      awake: number;
      /** Seconds, with those before each sleep */
      in_memory: number;
    } | null;
  } | null;
};

export type Secret = {
  /** Id of the secret or file */
  id: number;
  /** The name by which descriptions refer to it */
  name: string;
  /** Whether all users may use it */
  for_all: boolean;
  /** Bytes of the value */
  size: number;
  /** When the value was set, in seconds since 1970 */
  set_at: number;
};

export type SecretEncryption = {
  /** Values that this request has encrypted with the first key */
  encrypted: number;
  /** Values for further requests */
  left: number;
  /** Values whose key is no longer in the setting */
  unreadable: number;
};

export type Service = {
  /** Id of the service */
  id: number;
  /** The service group and a number */
  name: string;
  /** Name of the service in the description */
  service_group: string;
  /** Id of the execution */
  execution_id: number;
  /** State of the service */
  status: 'inactive' | 'starting' | 'active' | 'terminating';
  /** State of the container when its host last reported it */
  backend_status: 'undefined' | 'created' | 'started' | 'dead' | 'destroyed';
  /** Empty while there is no container */
  ip_address: string;
  /** Id of the container; empty while there is none */
  backend_id: string;
  /** Why it could not start or has failed; null if neither */
  error_message: string | null;
  /** The part of the application description that it was made from */
  description: ServiceDescription;
  /** What its host is doing for its start, e.g. pulling its image; absent when it is doing nothing */
  progress?: string | undefined;
  /** Exit code of its last container if that ended by itself, else null; only under /native/api/0.7 */
  exit_code?: number | null | undefined;
  /** Its endpoints; only under /native/api/0.7 */
  endpoints?: Endpoints | undefined;
  /**
   * Where its web applications are, each with the name of its port; empty if the deployment has no addresses
   * for them; only under /native/api/0.7
   */
  applications?: Array<{
    /** Name of the port */
    name: string;
    /** Number of the port in the container */
    port_number: number;
    /** Where a browser opens it */
    url: string;
  }> | undefined;
  /** Whether every user may use its web applications; only under /native/api/0.7 */
  shared?: boolean | undefined;
  /**
   * What checks of its health have found; null if it has none, or does not run; only under /native/api/0.7
   */
  health?: 'starting' | 'healthy' | 'unhealthy' | null | undefined;
  /**
   * When it is started again after its end; null if no restart is due; only under /native/api/0.7, in seconds
   * since the epoch (UTC)
   */
  time_restart?: number | null | undefined;
  /** Its last 20 starts, the oldest first; only under /native/api/0.7 */
  history?: Array<ServiceStart> | undefined;
};

/** A service definition: one or more containers of the same kind. */
export type ServiceDescription = {
  /**
   * Letters, digits and inner "-". Unique in the application, upper and lower case being the same. Instances
   * are named <name>0, <name>1 and so on.
   */
  name: string;
  /**
   * The container image, as the engine of the host knows it or can pull it: a name in lower case, perhaps
   * with a registry before it and a tag or digest after it.
   */
  image: string;
  /**
   * Whether the execution ends when an instance of this service exits. At least one service must be a
   * monitor.
   */
  monitor: boolean;
  /** Number of instances. All services together have at most 1000. */
  total_count: number;
  /**
   * Number of essential instances, at most total_count: the execution starts when all of them have a place.
   * The other instances are elastic: they come and go with the free capacity.
   */
  essential_count: number;
  /**
   * Services of a lower number start first. A service starts when all essential instances of a lower number
   * have started and, if their health is checked, are healthy.
   */
  startup_order: number;
  /** What each instance of the service reserves, and what it may use. */
  resources: {
    /** The memory of each instance. */
    memory: {
      /** Bytes that are reserved on the host. Null reserves nothing. */
      min: number | null;
      /**
       * Limit in bytes, which counts under the quota; a container beyond it is killed. At least "min". Null
       * or 0: "min" if it is at least 6 MiB, else the default of the deployment.
       */
      max: number | null;
    };
    /** The processor cores of each instance. */
    cores: {
      /**
       * Cores that are reserved on the host and count under the quota; fractions are allowed. Null reserves
       * 0.1.
       */
      min: number | null;
      /** Limit in cores, for the use of idle cores beyond "min". At least "min". Null: no limit. */
      max: number | null;
    };
    /** Size of /dev/shm in bytes. Null or absent: the engine's default. */
    shm?: number | null | undefined;
    /** The same in descriptions of other platforms. "shm" wins; 0 has no effect. */
    shm_size?: number | undefined;
  };
  /** Environment variables, each as ["NAME", "value"]. A value may refer to variables such as {user_name}. */
  environment: Array<[string, string]>;
  /** Folders of the host that the container uses. */
  volumes: Array<{
    /**
     * Letters, digits, ".", "_" and "-", beginning with a letter or digit. The folder is mounted at
     * /mnt/<name>. Unique within the service.
     */
    name: string;
    /** The absolute path of a folder that exists on the host, beneath a folder that the operator allows. */
    path: string;
    /** Whether the container may only read the folder. */
    read_only: boolean;
  }>;
  /** Files that were set with `berth file set`: the container sees them, and no disk has them. */
  files?: Array<{
    /** The name of the file, of your own or of all users. */
    name: string;
    /**
     * The absolute path at which the container sees it, read-only, outside of /dev, /proc, /sys, /workspace
     * and the volumes. Unique within the service, and not beneath another file.
     */
    path: string;
  }> | undefined;
  /** Ports of the container that users reach. */
  ports: Array<{
    /** The name of the endpoint, as users see it. */
    name: string;
    /** The port in the container. The host publishes it on a free port. */
    port_number: number;
    /** The transport protocol. */
    protocol: 'tcp' | 'udp';
    /**
     * The URL of the endpoint, with any scheme but those that browsers run. {ip_port} becomes the address and
     * port on the host, {proxy_path} the path of the port, else "/".
     */
    url_template: string;
    /**
     * Whether the web application at this port gets a path where the deployment has an address for those
     * (BERTH_APPS_PATHS). The container has the path in REVERSE_PROXY_PATH_<port>.
     */
    proxy?: boolean | undefined;
    /** Whether the host publishes the port. Absent: as "publish" of the service. */
    publish?: boolean | undefined;
  }>;
  /**
   * Whether the host publishes the ports. False: other services, and clients through Berth, reach them only.
   * Absent: true.
   */
  publish?: boolean | undefined;
  /**
   * The command line, split into words as a POSIX shell splits it; it may refer to variables. Null: the
   * image's own command.
   */
  command: string | null;
  /** The working directory of the command. Null or absent: the image's own. */
  work_dir?: string | null | undefined;
  /**
   * The user id as which the command runs, or user and group: "1000", "1000:1000". Each at most 2147483647.
   * Null or absent: the image's own, or the one that the operator requires with folders of the host.
   */
  user?: string | null | undefined;
  /**
   * Labels that a host must have, all of them, to run the service. The different labels of an application
   * have at most 4096 characters in all.
   */
  labels?: Array<string> | undefined;
  /**
   * A network of the host to join instead of the user's own; the operator must allow it. Null or absent: the
   * user's own.
   */
  network?: string | null | undefined;
  /**
   * How the health of each instance is checked: exactly one of "http", "tcp", "command" and "image". An
   * instance is starting until it is healthy. One that is unhealthy has died. Absent: a running instance
   * counts as healthy.
   */
  health?: {
    /** A check by HTTP: healthy with a status from 200 to 399. A redirect is not followed. */
    http?: {
      /** What is requested with GET, such as "/health?full". */
      path: string;
      /** The port in the container. It need not be published. */
      port: number;
    } | undefined;
    /** A check by TCP: healthy if the port accepts a connection. */
    tcp?: {
      /** The port in the container. It need not be published. */
      port: number;
    } | undefined;
    /**
     * A check by a command line that runs in the container: healthy with exit code 0. Split and filled in as
     * "command" of the service.
     */
    command?: string | undefined;
    /** A check by the command of the HEALTHCHECK of the image. */
    image?: true | undefined;
    /** Seconds from one check to the next. At least 5 with "command" and "image". Absent: 10. */
    interval?: number | undefined;
    /** Seconds after which a check without an answer has failed. Absent: 5. */
    timeout?: number | undefined;
    /** Checks that fail one after the other before the instance counts as unhealthy. Absent: 3. */
    retries?: number | undefined;
    /** Seconds from the start in which no failed check counts, until one succeeds. Absent: 30. */
    start_period?: number | undefined;
  } | undefined;
  /**
   * How often instances that die are started again. Absent: a monitor is not started again, others 5 times in
   * 10 minutes. With it, a monitor that fails is started again too; one that exits with 0 still ends the
   * execution. Other elastic instances are started again without a limit.
   */
  restart?: {
    /**
     * Restarts within the window. One more death ends the execution with an error. 0: the first death does.
     */
    attempts: number;
    /** Seconds for which a death counts. Absent: 600. */
    window?: number | undefined;
    /** Seconds before each restart. Absent: 1, 2, 4 and so on, at most 60. */
    delay?: number | undefined;
  } | undefined;
  /** Accepted for descriptions of other platforms; has no effect. */
  replicas?: number | undefined;
};

export type ServiceStart = {
  /** The number of the start, counted over all hosts */
  start: number;
  /** The name that the host had */
  host: string;
  /** When the start was decided, in seconds since the epoch (UTC) */
  time_start: number;
  /** When its container was reported to run; null if it never was, in seconds since the epoch (UTC) */
  time_run: number | null;
  /** When its end was reported; null if it has not ended, in seconds since the epoch (UTC) */
  time_end: number | null;
  /** Null if it has not ended, or has ended without an exit code */
  exit_code: number | null;
  /** How it ended, for people; empty if it has not ended */
  reason: string;
  /** Whether its end has decided that of the execution */
  ended_execution: boolean;
};

export type ServiceUsage = {
  /** Time of the last start in seconds since 1970; null if its host has no samples of it */
  start: number | null;
  /** Samples of the last start, oldest first */
  samples: Array<{
    /** In seconds since 1970 */
    time: number;
    /** In bytes, the highest since the sample before */
    memory: number;
    /** Average since the sample before, or since the start */
    cores: number;
  }>;
  /** What the service has reserved */
  reserved: {
    /** In bytes */
    memory: number;
    /** Cores */
    cores: number;
  };
};

export type ShopEntry = {
  /** Id of the application */
  id: string;
  /** The heading under which it stands */
  category: string;
  /** Name for people */
  name: string;
  /** What may be filled in */
  parameters: Array<ShopParameter>;
};

export type ShopEntryDetail = {
  /** Id of the application */
  id: string;
  /** The heading under which it stands */
  category: string;
  /** Name for people */
  name: string;
  /** What may be filled in */
  parameters: Array<ShopParameter>;
  /** Markdown */
  readme: string;
};

export type ShopParameter = {
  /** Names the parameter in `values` */
  key: string;
  /** What the value sets */
  kind: 'environment' | 'command' | 'service_count' | 'resources';
  /** Name in the manifest */
  name: string;
  /** Name for people */
  readable_name: string;
  /** What the value means */
  description: string;
  /** Type of the value */
  type: 'int' | 'float' | 'string';
  /** The value if none is given */
  default: string;
  /** The smallest value; null: no limit */
  min: number | null;
  /** The largest value; null: no limit */
  max: number | null;
  /** Values are a multiple of it above the smallest; null: any */
  step: number | null;
  /** Whether your role may give another value */
  may_change: boolean;
};

export type User = {
  /** Id of the user */
  id: number;
  /** Name for logging in */
  username: string;
  /** E-mail address; empty if none is known */
  email: string;
  /** Id of the role */
  role_id: number;
  /** Id of the quota */
  quota_id: number;
  /** What verifies the password, e.g. internal for Berth itself */
  auth_source: string;
  /** User id of the processes and files of the containers */
  fs_uid: number;
  /** Executions of users with a higher priority start first */
  priority: number;
  /** Whether the user may log in */
  enabled: boolean;
  /** Who the user is at the provider of the sign-on, of one user below /native; null: nobody */
  subject?: string | null | undefined;
};

export type UserChanges = {
  /** Name for logging in */
  username?: string | undefined;
  /** E-mail address; may be empty */
  email?: string | undefined;
  /** Id of the role */
  role_id?: number | undefined;
  /** Id of the quota */
  quota_id?: number | undefined;
  /** What verifies the password, e.g. internal for Berth itself */
  auth_source?: string | undefined;
  /** User id of the processes and files of the containers; by default a free one */
  fs_uid?: number | undefined;
  /** Executions of users with a higher priority start first */
  priority?: number | undefined;
  /** Whether the user may log in */
  enabled?: boolean | undefined;
  /** A new password */
  password?: string | undefined;
  /** Required for a new password of your own by cookie or token */
  current_password?: string | undefined;
  /** Who the user is at the provider of the sign-on; makes it a user of the source oidc; null unlinks it */
  subject?: string | null | undefined;
  /** The provider that the subject is meant for: it must be that of the setting */
  issuer?: string | undefined;
};

export type UserFields = {
  /** Name for logging in */
  username: string;
  /** E-mail address; may be empty */
  email?: string | undefined;
  /** Id of the role */
  role_id: number;
  /** Id of the quota */
  quota_id: number;
  /** What verifies the password, e.g. internal for Berth itself */
  auth_source?: string | undefined;
  /** User id of the processes and files of the containers; by default a free one */
  fs_uid?: number | undefined;
  /** Executions of users with a higher priority start first */
  priority?: number | undefined;
  /** Whether the user may log in */
  enabled?: boolean | undefined;
  /** Who the user is at the provider of the sign-on; makes it a user of the source oidc */
  subject?: string | undefined;
  /** The provider that the subject is meant for: it must be that of the setting */
  issuer?: string | undefined;
};
