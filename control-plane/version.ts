/** The version of Berth and of its API. */
export const VERSION = '0.1.0';
export const API_VERSION = '0.7';
