/** The version of Berth and of its API, and the paths of the API. */
import manifest from '../package.json' with { type: 'json' };

export const VERSION = manifest.version;
export const API_VERSION = '0.7';
export const API_PATH = `/api/${API_VERSION}`;
/** Group B, whatever the variant: for the command line, and whatever else is Berth's own (H430). */
export const NATIVE_PATH = `/native${API_PATH}`;
