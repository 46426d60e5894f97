/** The engine that tests run containers on. It is set up before them, by engine-setup.ts or test/run.ts. */
import type Docker from 'dockerode';
import { connectEngine, DEFAULT_SOCKET, unixHost } from '../../../agent/engine/engine-address.ts';
import { ensureImage } from '../../../examples/image.ts';

/** A client of the engine, on which the image IMAGE (examples/image.ts) exists. */
export async function testEngine(): Promise<Docker> {
  const docker = connectEngine(process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET));
  await ensureImage(docker);
  return docker;
}
