/** Owns where Node finds the files of Swagger UI: in the package, as it was installed. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** All that `http/docs.ts` serves. */
export const SWAGGER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

export const swaggerFile = (name: string) =>
  readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
