/** A certificate authority of a test, with one certificate for loopback, made by openssl. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ensureProgram } from '../tools/debian-program.ts';

const run = promisify(execFile);

/** Paths of PEM files. */
export interface Authority {
  ca: string;
  certificate: string;
  key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** `names`: subject alternative names of the certificate. */
export async function makeAuthority(folder: string, names = 'IP:127.0.0.1'): Promise<Authority> {
  await ensureProgram('openssl');
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  await openssl(
    ...['req', '-x509', ...KEY, '-days', '2', '-subj', '/CN=Test CA', '-keyout', 'ca.key', '-out', 'ca.pem'],
  );
  await openssl(...['req', ...KEY, '-subj', '/CN=directory', '-keyout', 'server.key', '-out', 'server.csr']);
  await writeFile(`${folder}/names`, `subjectAltName=${names}\n`);
  await openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-days', '2', '-extfile', 'names', '-out', 'server.pem'],
  );
  return { ca: `${folder}/ca.pem`, certificate: `${folder}/server.pem`, key: `${folder}/server.key` };
}
