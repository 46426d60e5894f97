/** The bound of the images that are kept, on an engine that lists as many. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type Docker from 'dockerode';
import { expect, onTestFinished, test } from 'vitest';
import { OwnImages } from '../../../../agent/engine/pulls/own-images.ts';
import { PrivateImages } from '../../../../agent/engine/pulls/private-images.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

test('P185: with more than 900 images the least recently used goes, whatever its age', async () => {
  const folder = await scratchFolder('berth-images-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const images = Array.from({ length: 902 }, (_, index) => ({
    image: `web:${index}`,
    id: `sha256:${index}`,
    usedMs: 1000 - index,
  }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/images.json`, JSON.stringify({ engine: 'one', images }));
  const removed: string[] = [];
  const listImages = async () =>
    images
      .filter(({ image }) => !removed.includes(image))
      .map(({ image, id }) => ({ Id: id, ParentId: '', RepoTags: [image], Size: 5, SharedSize: 2 }));
  const getImage = (image: string) => ({ remove: async () => removed.push(image) });
  const docker = { listImages, listContainers: async () => [], getImage } as unknown as Docker;
  const own = new OwnImages(
    docker,
    { file: `${folder}/images.json`, log: () => {}, nowMs: () => 2000 },
    async () => 'one',
    new PrivateImages(
      docker,
      { file: '', deployment: '', log: () => {}, nowMs: () => 2000 },
      async () => 'one',
    ),
  );
  const removeUnused = () => own.removeUnused({ wanted: () => [], unusedMs: 1e9 });
  expect(await removeUnused()).toEqual({ image: 'web:901', bytes: 3, unusedMs: 1901 });
  expect(await removeUnused()).toMatchObject({ image: 'web:900' });
  expect(await removeUnused()).toBeUndefined();
  expect(removed).toEqual(['web:901', 'web:900']);
});
