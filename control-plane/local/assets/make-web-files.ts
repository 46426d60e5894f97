/** Entry of a separate process that builds the files of the web interface in the given folder. */
import { ensureWebFiles } from './web-files.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: make-web-files.ts FOLDER');
await ensureWebFiles(folder);
