/** Entry of a process of its own that makes the files of the web interface in the folder it is told. */
import { ensureWebFiles } from './web-files.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: make-web-files.ts FOLDER');
await ensureWebFiles(folder);
