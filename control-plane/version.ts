/** The version of Berth and of its API. */
import manifest from '../package.json' with { type: 'json' };

export const VERSION = manifest.version;
export const API_VERSION = '0.7';
