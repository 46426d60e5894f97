/** Owns where Node finds the files of Swagger UI: in the package, as it was installed. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { SwaggerFile } from '../http/docs.ts';

export const swaggerFile: SwaggerFile = (name) =>
  readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
