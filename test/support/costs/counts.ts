/**
 * What the program sends, as counted by `test/unit/costs/` and `test/all/hosts/cloud-costs.test.ts`. A change
 * of what is sent changes these numbers, and then the tables of docs/cloudflare.md, which the tests print.
 */

/** A cluster at rest, with the default settings. */
export const idle = {
  /** Reports of one host, whatever runs there. */
  messagesPerHostMinute: 0,
  /** Pulses of one host, which the runtime answers, and Cloudflare does not charge for (P179). */
  pulsesPerHostMinute: 6,
  /** Calls between a gateway and the coordinator. */
  gatewayCallsPerMinute: 0,
  /** Alarms of a gateway that ring. Each sets the next (P180). */
  alarmsPerGatewayMinute: 0.8,
  /** Alarms of the coordinator that ring, for all hosts together. Each sets the next. */
  alarmsPerMinute: 0.1,
  databaseRequestsPerMinute: 0,
  /** Hosts whose sockets one gateway holds (P170). */
  hostsPerGateway: 100,
};

/** Rows that a wake of the coordinator reads for each host: the host, and what runs there (assumed). */
export const ROWS_PER_HOST_OF_A_WAKE = 11;

/** With `BERTH_HOST_LOSS=requeue`: agents have leases, and report. */
export const requeue = {
  messagesPerHostMinute: 6,
  /** Alarms of the coordinator that ring, since it does not sleep (C131). Each sets the next. */
  alarmsPerMinute: 2,
  /** Requests to the database of an idle cluster, for all hosts together (C108, WEB-10). */
  databaseRequestsPerMinute: 7,
  /**
   * Calls between a gateway and the coordinator in a minute, however many of its hosts report: one each way
   * within two seconds at most (P177).
   */
  maxCallsPerGatewayMinute: 60,
};

/**
 * One execution of one service that ends by itself: it is submitted, read three times and deleted, by a
 * client with a cookie.
 */
export const execution = {
  requests: 5,
  /** Calls from the Worker to the object. */
  objectCalls: 2,
  /** Reports of the agent. */
  messages: 5,
  /** Of Worker and object together. */
  databaseRequests: 14,
  rowsRead: 92,
  rowsWritten: 45,
};

/** Calls between gateway and coordinator for a message that waits for no other: one each way. */
export const CALLS_PER_MESSAGE = 2;

/** Assumed, and above what a request took in the measurements, except for a password. */
export const CPU_MS_PER_REQUEST = 5;

/**
 * Rows in the storage of objects for an execution: they save what they need each time before they may sleep,
 * and set the alarm then and when they wake. Some ten times.
 */
export const OBJECT_ROWS_PER_EXECUTION = 44;

/**
 * Time for which an object is awake after an alarm, above what `npm run bench -- sleep` measured, and
 * coordinator and gateway together for an execution: some ten events, after each of which the coordinator
 * waits for its commit and 100 ms more. In ms.
 */
export const AWAKE_MS = { alarm: 100, execution: 3_000 };
