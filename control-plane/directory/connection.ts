/**
 * One connection to the directory: sends one request after the other, within bounds on time and on what the
 * directory sends. It never connects again by itself, and follows no references to other directories.
 */
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { BindRequest, ExtendedRequest, FilterParser, SearchRequest } from 'ldapts';
import { type Answer, answerIn, RESULT_OF } from './answers.ts';
import type { LdapAddress } from './ldap-settings.ts';

/** What the directory may send while one password is verified. */
const MAX_RECEIVED_BYTES = 65_536;
const START_TLS = '1.3.6.1.4.1.1466.20037';
const SUCCESS = 0;
const SIZE_LIMIT_EXCEEDED = 4;
const NO_SUCH_OBJECT = 32;

/**
 * Results of a bind that mean a wrong name or password, or an account that must not log in:
 * constraintViolation, noSuchObject, invalidDNSyntax, inappropriateAuthentication, invalidCredentials,
 * insufficientAccessRights and unwillingToPerform.
 */
const REFUSALS: readonly number[] = [19, NO_SUCH_OBJECT, 34, 48, 49, 50, 53];

type Request = BindRequest | SearchRequest | ExtendedRequest;

interface Outcome {
  code: number;
  /** What the directory adds to the code. */
  text: string;
  /** Distinguished names of the entries that it found. */
  dns: string[];
}

export class Connection {
  readonly #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #receivedBytes = 0;
  #id = 0;
  /** Called when something has arrived, or the connection has ended. */
  #changed: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#receive);
    socket.on('close', this.#end);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === 'open';
  }

  /** Runs the work of one verification. An abort ends the connection, and the work with it. */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#receivedBytes = this.#unread.length;
    const abort = () => this.#socket.destroy(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    try {
      return await work();
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /**
   * Requests StartTLS, and gives the socket back to be encrypted. The answer must be alone: what follows it
   * in plain text could come from anybody on the way, and would be read as if it were encrypted.
   */
  async beginTls(): Promise<Socket> {
    const { code, text } = await this.#exchange(
      'extended',
      new ExtendedRequest({ messageId: this.#nextId(), oid: START_TLS }),
    );
    if (code !== SUCCESS) throw refused('StartTLS', code, text);
    if (this.#unread.length > 0)
      throw new Error('The answer to StartTLS is followed by something in plain text.');
    return this.#socket.off('data', this.#receive).off('close', this.#end).pause();
  }

  /** Whether the directory accepts the password. Rejects if it answers anything but yes or no. */
  async accepts(dn: string, password: string): Promise<boolean> {
    // A bind without a name or a password succeeds without proving anything.
    if (password === '' || !dn.includes('=')) return false;
    const { code, text } = await this.#exchange(
      'bind',
      new BindRequest({ messageId: this.#nextId(), dn, password }),
    );
    if (code === SUCCESS) return true;
    if (REFUSALS.includes(code)) return false;
    throw refused('the login', code, text);
  }

  /** Binds without a name, as which some directories allow a search. */
  async bindAnonymously(): Promise<void> {
    const { code, text } = await this.#exchange('bind', new BindRequest({ messageId: this.#nextId() }));
    if (code !== SUCCESS) throw refused('a login without a name: set BERTH_LDAP_OPTIONS.bindDn', code, text);
  }

  /** The distinguished names of the entries that match, at most `max`. No attribute is requested. */
  async find(base: string, filter: string, timeLimitMs: number, max: number): Promise<string[]> {
    const { code, text, dns } = await this.#exchange(
      'search',
      new SearchRequest({
        messageId: this.#nextId(),
        baseDN: base,
        scope: 'sub',
        derefAliases: 'never',
        filter: FilterParser.parseString(filter),
        attributes: ['1.1'],
        sizeLimit: max,
        timeLimit: Math.ceil(timeLimitMs / 1_000),
      }),
    );
    if (code !== SUCCESS && code !== SIZE_LIMIT_EXCEEDED) throw refused('the search', code, text);
    return dns.slice(0, max);
  }

  close(): void {
    this.#socket.destroy();
  }

  #nextId(): number {
    this.#id += 1;
    return this.#id;
  }

  /** Sends the request, and resolves to its result. */
  async #exchange(kind: keyof typeof RESULT_OF, request: Request): Promise<Outcome> {
    if (this.#unread.length > 0) throw new Error('The directory sends what nobody has requested.');
    this.#socket.write(request.write());
    const dns: string[] = [];
    for (;;) {
      const answer = await this.#next();
      const isOther = answer.kind === 'result' && answer.operation !== RESULT_OF[kind];
      if (answer.id !== request.messageId || isOther)
        throw new Error('The directory answers another request.');
      if (answer.kind === 'entry') dns.push(answer.dn);
      if (answer.kind === 'result') return { code: answer.code, text: answer.text, dns };
    }
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const look = () => {
        try {
          const found = answerIn(this.#unread);
          if (found) {
            this.#unread = found.rest;
            return resolve(found.answer);
          }
          if (!this.isOpen)
            throw this.#socket.errored ?? new Error('The directory has closed the connection.');
          this.#changed = look;
        } catch (error) {
          reject(error);
        }
      };
      look();
    });
  }

  readonly #receive = (bytes: Buffer): void => {
    this.#receivedBytes += bytes.length;
    if (this.#receivedBytes > MAX_RECEIVED_BYTES)
      this.#socket.destroy(new Error(`The directory sends more than ${MAX_RECEIVED_BYTES} bytes.`));
    else this.#unread = Buffer.concat([this.#unread, bytes]);
    this.#notify();
  };

  readonly #end = (): void => this.#notify();

  #notify(): void {
    const changed = this.#changed;
    this.#changed = () => {};
    changed();
  }
}

const refused = (what: string, code: number, text: string): Error =>
  new Error(`The directory refuses ${what} with code ${code}${text === '' ? '' : `: ${text}`}`);

/**
 * Connects to the directory by TCP, and encrypts the connection: TLS from the start, or StartTLS (RFC 4511,
 * 4.14). Nothing but the request of StartTLS is sent before the directory's certificate was verified. `ca`:
 * authorities in PEM; undefined: those of Node. An abort destroys the socket.
 */
export async function openConnection(
  { host, port, tls }: LdapAddress,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const options: ConnectionOptions = {
    host,
    port,
    ...(ca !== undefined && { ca }),
    // A literal address must not be sent as a server name; certificates are compared with it all the same.
    ...(isIP(host) === 0 && { servername: host }),
  };
  if (tls === 'from-start') return new Connection(await opened(connectTls(options), 'secureConnect', signal));
  const plain = new Connection(await opened(connect({ host, port }), 'connect', signal));
  if (tls === 'none') return plain;
  try {
    const socket = await plain.use(signal, () => plain.beginTls());
    return new Connection(await opened(connectTls({ ...options, socket }), 'secureConnect', signal));
  } catch (error) {
    plain.close();
    throw error;
  }
}

/** Resolves once the socket has emitted `event`. */
function opened<T extends Socket>(
  socket: T,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => socket.destroy(signal.reason as Error);
    const settle = (run: () => void) => {
      signal.removeEventListener('abort', abort);
      run();
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    socket.once(event, () => settle(() => resolve(socket)));
    // An error after this must not end the process: what reads from the socket sees that it has ended.
    socket.on('error', (error) => settle(() => reject(error)));
    socket.once('close', () => settle(() => reject(new Error('The directory has closed the connection.'))));
  });
}
