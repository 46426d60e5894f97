/** Files of real containers, in a real browser under the policy of the pages. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

const NAME = 'grüße 世界 (1).bin';

export function files(site: () => Site): void {
  let id: number;
  let path: string;
  let folder: string;
  beforeAll(async () => {
    const { api } = site().berth;
    folder = await scratchFolder('berth-files-');
    const volumes = [{ name: 'data', path: folder, read_only: false }];
    id = await api.run(application(script('mkdir -p "/srv/my data"; sleep 10000', { volumes })));
    path = `/executions/${id}/services/${(await api.execution(id)).services[0]}/files`;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const fileOf = async (name: string, content: Uint8Array | string) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const upload = async (page: Page, files: string[], into: string) => {
    await page.getByLabel('Files', { exact: true }).setInputFiles(files);
    await page.getByLabel('Into the folder').fill(into);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
  };
  /** Waits until the service has nothing of the large file. */
  const hasNothing = () =>
    eventually(async () => {
      const { berth } = site();
      const [container] = await berth.containersOf(id);
      const changes = await berth.docker.getContainer(container?.Id ?? '').changes();
      return expect(JSON.stringify(changes)).not.toMatch(/\/srv\/(large|\.berth-cp)/);
    });
  const downloaded = async (page: Page, wanted: string) => {
    await page.getByLabel('Path in the service').fill(wanted);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    return download;
  };

  test('W210, W211, W212: files go into a service and come back the same, also in an archive', async () => {
    const content = randomBytes(3_000_000);
    const files = [await fileOf(NAME, content), await fileOf('empty', '')];
    const page = await site().visit(path.replace(/\/services.*/, ''));
    await page.getByRole('link', { name: 'Files of main0' }).click();
    await upload(page, files, '/srv/my data');
    await page.getByText('Uploaded 2 files.').waitFor();
    expect(await page.locator('#uploads > li').allInnerTexts()).toEqual([
      expect.stringMatching(/世界[\s\S]*uploaded, 2\.9 MiB/),
      expect.stringMatching(/empty[\s\S]*uploaded, 0 bytes/),
    ]);
    const saved = await downloaded(page, `/srv/my data/${NAME}`);
    expect(saved.suggestedFilename()).toBe(NAME);
    expect(Buffer.compare(readFileSync(await saved.path()), content)).toBe(0);
    await page.getByLabel('As', { exact: true }).selectOption('tar');
    const archive = await downloaded(page, '/srv/my data');
    expect(archive.suggestedFilename()).toBe('my data.tar');
    expect(readFileSync(await archive.path()).includes(content)).toBe(true);
  });

  test('W211, W213: an upload that is cancelled, or whose page is left, leaves nothing, and a refused one states why', async () => {
    const large = await fileOf('large', Buffer.alloc(60_000_000));
    const page = await site().visit(path, { expected: /409/ });
    await upload(page, [large], '/srv');
    await page.getByText(/ of 57\.2 MiB/).waitFor();
    await page.getByRole('button', { name: 'Cancel the upload of large' }).click();
    await page.getByText('Uploaded 0 files.').waitFor();
    await page.getByText('cancelled', { exact: true }).waitFor();
    await hasNothing();
    await upload(page, [await fileOf('small', 'small')], '/none');
    await page.getByText('/none/: no such folder, or no permission.').waitFor();
    await upload(page, [join(folder, 'small')], '/mnt/data');
    await page.getByText('/mnt/data is a mount, and copies never cross one of the host').waitFor();
    await page.getByText('Uploaded 0 files. 1 file failed.').waitFor();
    await page.getByLabel('Path in the service').fill('/mnt/data/small');
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText('The download was refused: /mnt/data is a mount').waitFor();
    expect(await page.getByLabel('Path in the service').inputValue()).toBe('/mnt/data/small');
    await upload(page, [large], '/srv');
    await page.getByText(/ of 57\.2 MiB/).waitFor();
    await page.goto('/executions');
    await hasNothing();
  });
}
