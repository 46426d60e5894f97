/**
 * What the program sends, as `test/unit/costs/` and `test/contract/cloud-costs.test.ts` count it. A change of
 * what is sent changes these numbers, and then the tables of docs/cloudflare.md, which the tests print.
 */

/** A cluster at rest, with the default settings. */
export const idle = {
  /** Reports of one host, whatever runs there: signs of life with the usage. */
  messagesPerHostMinute: 6,
  /** Alarms of the object that ring, for all hosts together. Each sets the next. */
  alarmsPerMinute: 0.8,
  databaseRequestsPerMinute: 0,
  /** With `BERTH_HOST_LOSS=requeue`, for all hosts together (C108). */
  requeueDatabaseRequestsPerMinute: 6,
  /** Hosts whose sockets one gateway holds (P170). */
  hostsPerGateway: 100,
  /**
   * Calls between a gateway and the coordinator in a minute, however many of its hosts report: one each way
   * within two seconds at most (P177).
   */
  maxCallsPerGatewayMinute: 60,
  /** Share of the time for which coordinator and gateways are active, or could not hibernate. */
  awakeShare: 1,
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
