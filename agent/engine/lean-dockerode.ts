/**
 * Keeps out of memory what dockerode loads at once and the agent hardly ever needs, 8 MB: the packages for
 * building images, and for engines behind ssh until there is one. A bundle leaves them out by itself.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

function replace(name: string, exports: (path: string) => unknown): void {
  let path: string;
  try {
    path = require.resolve(name);
  } catch {
    // A bundle has no packages.
    return;
  }
  require.cache[path] = { id: path, filename: path, loaded: true, exports: exports(path) } as NodeJS.Module;
}

for (const name of ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs']) replace(name, () => ({}));
replace('docker-modem/lib/ssh', (path) => (options: unknown) => {
  delete require.cache[path];
  return require(path)(options);
});
