/** The files of Swagger UI on Node, from the installed package. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sharedFiles } from './shared-files.ts';

/** All files that http/routes/docs.ts serves. */
export const SWAGGER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

export const swaggerFile = sharedFiles((name) =>
  readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
);
