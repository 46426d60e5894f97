/** A directory of a test: slapd on loopback, with TLS by an authority of the test, and entries of people. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { canConnect, freePort } from '../hosts/port.ts';
import { type Program, startCommand } from '../hosts/process.ts';
import { scratchFolder } from '../tools/folder.ts';
import { type Authority, makeAuthority } from './authority.ts';
import { ensureSlapd, type Slapd } from './slapd.ts';

const run = promisify(execFile);

export const BASE = 'dc=example,dc=org';
export const PEOPLE = `ou=people,${BASE}`;
export const GROUPS = `ou=groups,${BASE}`;
/** The account that may search, and the directory's administrator. Anybody else may only bind. */
export const READER = { dn: `cn=reader,${BASE}`, password: 'reader words' };
const ROOT = { dn: `cn=root,${BASE}`, password: 'root words' };

export interface Person {
  /** Value of `uid`, as text of LDIF. */
  uid: string;
  password: string;
  /** Folder below PEOPLE; absent: PEOPLE itself. */
  unit?: string;
}

export class DirectoryServer {
  readonly authority: Authority;
  readonly #folder: string;
  readonly #slapd: Slapd;
  readonly #ports: { plain: number; tls: number };
  #program: Program | undefined;

  private constructor(
    folder: string,
    slapd: Slapd,
    authority: Authority,
    ports: { plain: number; tls: number },
  ) {
    this.#folder = folder;
    this.#slapd = slapd;
    this.authority = authority;
    this.#ports = ports;
  }

  /** `groups`: names of people by the name of their group. */
  static async start(
    people: readonly Person[],
    groups: Readonly<Record<string, readonly string[]>> = {},
  ): Promise<DirectoryServer> {
    const slapd = await ensureSlapd();
    const folder = await scratchFolder('berth-directory-');
    const authority = await makeAuthority(folder);
    const ports = { plain: await freePort(), tls: await freePort() };
    const directory = new DirectoryServer(folder, slapd, authority, ports);
    await mkdir(`${folder}/data`);
    await writeFile(`${folder}/slapd.conf`, configOf(folder, slapd, authority));
    await writeFile(`${folder}/people.ldif`, `${ldifOf(people)}\n${groupsLdif(groups)}`);
    await directory.#run(['-T', 'add', '-f', `${folder}/slapd.conf`, '-l', `${folder}/people.ldif`]);
    await directory.start();
    return directory;
  }

  get url(): string {
    return `ldap://127.0.0.1:${this.#ports.plain}`;
  }

  /** With TLS from the start. */
  get tlsUrl(): string {
    return `ldaps://127.0.0.1:${this.#ports.tls}`;
  }

  async start(): Promise<void> {
    const { program, env } = this.#slapd;
    const addresses = `${this.url}/ ${this.tlsUrl}/`;
    this.#program = startCommand([program, '-d', '0', '-f', `${this.#folder}/slapd.conf`, '-h', addresses], {
      env,
    });
    await this.#program.waitUntil(() => canConnect(this.#ports.plain));
    await this.#program.waitUntil(() => canConnect(this.#ports.tls));
  }

  /** Ends slapd; `start` continues with the same entries. */
  async end(): Promise<void> {
    await this.#program?.stop();
  }

  /** Connections that slapd has open, by its own monitor. */
  async connections(): Promise<number> {
    const { Client } = await import('ldapts');
    const client = new Client({ url: this.url });
    await client.bind(ROOT.dn, ROOT.password);
    const { searchEntries } = await client.search('cn=Current,cn=Connections,cn=Monitor', {
      scope: 'base',
      attributes: ['monitorCounter'],
    });
    await client.unbind();
    // Without the connection that asks.
    return Number(searchEntries[0]?.monitorCounter) - 1;
  }

  async stop(): Promise<void> {
    await this.end();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #run(args: string[]): Promise<unknown> {
    return run(this.#slapd.program, args, { env: { ...process.env, ...this.#slapd.env } });
  }
}

const configOf = (
  folder: string,
  { modules, schemas }: Slapd,
  { ca, certificate, key }: Authority,
): string => `
include ${schemas}/core.schema
include ${schemas}/cosine.schema
include ${schemas}/inetorgperson.schema
modulepath ${modules}
moduleload back_mdb
moduleload back_monitor
pidfile ${folder}/pid
argsfile ${folder}/args
TLSCACertificateFile ${ca}
TLSCertificateFile ${certificate}
TLSCertificateKeyFile ${key}
database mdb
suffix ${BASE}
rootdn ${ROOT.dn}
rootpw "${ROOT.password}"
directory ${folder}/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact=${READER.dn} read by * none
database monitor
access to * by dn.exact=${ROOT.dn} read by * none
`;

const ldifOf = (people: readonly Person[]): string =>
  [
    `dn: ${BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n`,
    `dn: ${READER.dn}\nobjectClass: person\ncn: reader\nsn: reader\nuserPassword: ${READER.password}\n`,
    `dn: ${PEOPLE}\nobjectClass: organizationalUnit\nou: people\n`,
    ...[...new Set(people.flatMap(({ unit }) => (unit === undefined ? [] : [unit])))].map(
      (unit) => `dn: ou=${unit},${PEOPLE}\nobjectClass: organizationalUnit\nou: ${unit}\n`,
    ),
    ...people.map(({ uid, password, unit }) => {
      const below = unit === undefined ? PEOPLE : `ou=${unit},${PEOPLE}`;
      const dn = `uid=${uid.replace(/[^\p{L}\p{N}]/gu, (one) => `\\${one.charCodeAt(0).toString(16)}`)},${below}`;
      return `dn:: ${base64(dn)}\nobjectClass: inetOrgPerson\nuid:: ${base64(uid)}\ncn: one\nsn: one\nuserPassword: ${password}\n`;
    }),
  ].join('\n');

const groupsLdif = (groups: Readonly<Record<string, readonly string[]>>): string =>
  [
    `dn: ${GROUPS}\nobjectClass: organizationalUnit\nou: groups\n`,
    ...Object.entries(groups).map(([cn, members]) => {
      const lines = members.map((uid) => `member: uid=${uid},${PEOPLE}\n`).join('');
      return `dn: cn=${cn},${GROUPS}\nobjectClass: groupOfNames\ncn: ${cn}\n${lines}`;
    }),
  ].join('\n');

const base64 = (text: string): string => Buffer.from(text).toString('base64');
