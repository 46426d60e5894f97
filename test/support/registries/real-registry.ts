/**
 * Debian's docker-registry on loopback, where engines accept plain HTTP, with images of this test. Engines
 * pull through a door in front of it, which counts requests and can be held shut in the middle of a layer.
 */
import { randomBytes } from 'node:crypto';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import type Docker from 'dockerode';
import { pack } from 'tar-stream';
import { unpackPackage } from '../../../agent/local/debian.ts';
import { IMAGE } from '../../../examples/image.ts';
import { basic } from '../clients/http-client.ts';
import { finished } from '../engines/node-base.ts';
import { listenOn, portOf } from '../hosts/port.ts';
import { type Program, startCommand } from '../hosts/process.ts';
import { scratchFolder } from '../tools/folder.ts';
import { succeeds } from '../tools/succeeds.ts';

/** Credentials for a registry that requires a login. */
export const LOGIN = { username: 'puller', password: 'secret' };
/** Another one. */
export const OTHER_LOGIN = { username: 'other', password: 'other-word' };
/** Made with `htpasswd -B`. */
const HTPASSWD = [
  `${LOGIN.username}:$2b$04$WujNnMUO/D23Nmrvyx3TAeGaGZWQQmCCS8Y93qEZkYiTReuy.Qp6m\n`,
  `${OTHER_LOGIN.username}:$2b$04$abcdefghijklmnopqrstuuk.e7sSqJmUiIiGHkMr0Mty.T4zKXaiq\n`,
].join('');

const PACKAGE = resolve('.berth/docker-registry');
const PROGRAM = `${PACKAGE}/usr/bin/docker-registry`;
/** Size of the layer that an image of this registry adds to the common one. */
const LAYER_BYTES = 8_000_000;
/** Bytes that pass a door that is held shut. */
const HELD_AFTER_BYTES = 2_000_000;

export class RealRegistry {
  /** `address:port` of the door. */
  readonly host: string;
  readonly #docker: Docker;
  readonly #program: Program;
  readonly #folder: string;
  readonly door: Door;
  readonly #images: string[] = [];

  constructor(docker: Docker, program: Program, folder: string, door: Door) {
    this.#docker = docker;
    this.#program = program;
    this.#folder = folder;
    this.door = door;
    this.host = door.host;
  }

  /** Pushes a new image, which only the registry has afterwards; returns its name. */
  async image(name: string): Promise<string> {
    const tag = { repo: `${this.host}/${name}`, tag: '1' };
    const image = `${tag.repo}:${tag.tag}`;
    const context = pack();
    context.entry({ name: 'Dockerfile' }, `FROM ${IMAGE}\nCOPY layer /layer\n`);
    context.entry({ name: 'layer' }, randomBytes(LAYER_BYTES));
    context.finalize();
    await finished(this.#docker, await this.#docker.buildImage(context, { t: image }));
    await finished(this.#docker, await this.#docker.getImage(image).push({ authconfig: LOGIN }));
    await this.#docker.getImage(image).remove();
    this.#images.push(image);
    this.door.blobs.length = 0;
    return image;
  }

  async has(image: string): Promise<boolean> {
    return succeeds(this.#docker.getImage(image).inspect());
  }

  /** Writes a Docker config file into a new folder; returns the folder, for DOCKER_CONFIG. */
  async config(content: unknown): Promise<string> {
    const folder = await mkdtemp(`${this.#folder}/config-`);
    await writeFile(`${folder}/config.json`, JSON.stringify(content));
    return folder;
  }

  /** Removes an image from the engine, with all its names. */
  async forget(image: string): Promise<void> {
    const found = await this.#docker
      .getImage(image)
      .inspect()
      .catch(() => undefined);
    if (found) await this.#docker.getImage(found.Id).remove({ force: true });
  }

  async close(): Promise<void> {
    for (const image of this.#images) await this.forget(image).catch(() => {});
    this.door.close();
    await this.#program.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export async function startRealRegistry(
  docker: Docker,
  { requiresLogin = false } = {},
): Promise<RealRegistry> {
  await access(PROGRAM).catch(() => unpackPackage('docker-registry', PACKAGE));
  const folder = await scratchFolder('berth-registry-');
  await mkdir(`${folder}/store`);
  await writeFile(`${folder}/htpasswd`, HTPASSWD);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: `${folder}/store` } },
    http: { addr: '127.0.0.1:0' },
    ...(requiresLogin ? { auth: { htpasswd: { realm: 'berth', path: `${folder}/htpasswd` } } } : {}),
  };
  // YAML accepts JSON.
  await writeFile(`${folder}/config.yml`, JSON.stringify(config));
  const program = startCommand([PROGRAM, 'serve', `${folder}/config.yml`]);
  const [, port] = await program.waitFor(/listening on 127\.0\.0\.1:(\d+)/);
  return new RealRegistry(docker, program, folder, await Door.open(Number(port)));
}

/** A proxy in front of the registry. */
export class Door {
  readonly host: string;
  /** The requested layers by path, and whether the client left before the end. */
  readonly blobs: { path: string; left: boolean }[] = [];
  /** The requests for descriptions of images that the registry has answered. */
  readonly manifests: string[] = [];
  /** While true, each answer stops after some of its bytes. */
  held = false;
  /** While true, the registry requires no login. */
  isPublic = false;
  readonly #server: ReturnType<typeof createServer>;
  readonly #port: number;
  readonly #waiting = new Set<() => void>();

  constructor(server: ReturnType<typeof createServer>, port: number) {
    this.#server = server;
    this.#port = port;
    this.host = `127.0.0.1:${portOf(server)}`;
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) =>
      this.#pass(incoming, response),
    );
  }

  static async open(port: number): Promise<Door> {
    const server = createServer();
    await listenOn(server);
    return new Door(server, port);
  }

  /** Whether an answer has stopped. Descriptions of images are too short for that. */
  get holds(): boolean {
    return this.#waiting.size > 0;
  }

  hold(): void {
    this.held = true;
  }

  release(): void {
    this.held = false;
    this.trickle();
  }

  /** Lets a few more bytes of each held answer pass. */
  trickle(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const goOn of waiting) goOn();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = incoming;
    const blob = { path: url, left: false };
    if (method === 'GET' && url.includes('/blobs/')) this.blobs.push(blob);
    const sent = this.isPublic ? { ...headers, ...basic(LOGIN.username, LOGIN.password) } : headers;
    const onward = request({ host: '127.0.0.1', port: this.#port, method, path: url, headers: sent });
    response.on('close', () => {
      blob.left = !response.writableFinished;
      onward.destroy();
    });
    onward.on('error', () => response.destroy());
    onward.on('response', (answer) => {
      if (answer.statusCode === 200 && url.includes('/manifests/')) this.manifests.push(url);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      let passed = 0;
      answer.on('data', (bytes: Buffer) => {
        response.write(bytes);
        passed += bytes.length;
        if (!this.held || passed < HELD_AFTER_BYTES) return;
        answer.pause();
        this.#waiting.add(() => answer.resume());
      });
      answer.on('end', () => response.end());
    });
    incoming.pipe(onward);
  }
}
