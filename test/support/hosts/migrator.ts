/**
 * One of several processes that migrate the same database: `migrator.ts <url> <migrations as JSON>`. Prints
 * `ready`, waits for a line on stdin, migrates, and prints the applied versions as JSON.
 */
import { once } from 'node:events';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { openDatabase } from './databases.ts';

const [url = '', migrations = '[]'] = process.argv.slice(2);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
const db = await openDatabase(url);
const applied = await migrate(db, JSON.parse(migrations));
await db.close();
process.stdout.write(`${JSON.stringify(applied.map(({ version }) => version))}\n`);
