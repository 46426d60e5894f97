/** Owns the release of Berth and the version of the API it speaks. */
export const VERSION = '0.1.0';
export const API_VERSION = '0.7';
