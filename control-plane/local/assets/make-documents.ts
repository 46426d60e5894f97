/**
 * Entry of `npm run docs`: writes the parts of the documents that are generated from the schema of
 * descriptions.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaFileText, withReference } from './description-reference.ts';

const docs = join(import.meta.dirname, '../../../docs');
const guide = join(docs, 'user-guide.md');

await writeFile(join(docs, 'application-3.schema.json'), schemaFileText());
await writeFile(guide, withReference(await readFile(guide, 'utf8')));
