/**
 * Contract of the shop's files, for every reader of a shop: entries and problems
 * (control-plane/operations/shop/shop-files.ts).
 */
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readFolder, readShop } from '../../../control-plane/operations/shop/shop-entries.ts';
import { MAX_FILE_BYTES } from '../../../control-plane/operations/shop/shop-files.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { manifest, ScratchShop, shopKinds, zapp } from '../../support/fixtures/shops.ts';
import { sparkFolder } from '../../support/fixtures/spark-shop.ts';

const app = {
  'app/manifest.json': manifest(zapp()),
  'app/app.json': application(),
  'app/README.md': '# App',
};

const LARGE = ' '.repeat(MAX_FILE_BYTES + 1);
const manifested = (content: unknown) => ({ 'bad/manifest.json': content });
const described = (content: unknown) => ({ 'bad/README.md': '', 'bad/app.json': content });
const explained = (readme: unknown) => ({ 'bad/README.md': readme, 'bad/app.json': application() });

describe.each(shopKinds)('W72: a shop by its %s', (kind) => {
  let shop: ScratchShop;
  beforeEach(async () => {
    shop = await ScratchShop.make();
  });
  afterEach(() => shop.remove());

  const read = async () => readShop(await shop.open(kind));
  /** Ids of the usable entries, and all problems. */
  const summary = async () => {
    const { entries, problems } = await read();
    return {
      ids: entries.map(({ id }) => id),
      problems: problems.map((one) => `${one.where}: ${one.reason}`),
    };
  };

  test("W60, W61: a folder of Zoe's shop is read unchanged, except for the application whose files are missing", async () => {
    await shop.write(sparkFolder);
    const { entries, problems } = await read();
    expect(entries).toMatchObject([
      {
        id: 'spark-0',
        category: 'Data science',
        name: 'Distributed PySpark notebook',
        readme: '# Spark\n',
        logo: null,
        disabledFor: ['student'],
        parameters: [
          { key: 'environment:SPARK_DRIVER_RAM', type: 'int', default: '2147483648', step: 536_870_912 },
          { key: 'service_count:spark-worker', readableName: 'Spark worker count', min: 1, max: 16 },
          { key: 'environment:SPARK_WORKER_RAM' },
          { key: 'environment:SPARK_WORKER_CORES' },
        ],
      },
    ]);
    expect(problems).toEqual([
      { where: 'spark: CLOUDS', reason: 'There is no file clouds.json.' },
      { where: 'spark: CLOUDS', reason: 'There is no file README-clouds.md.' },
    ]);
  });

  test('W60: folders without a manifest and hidden folders are skipped, and unknown keys are ignored', async () => {
    await shop.write({ ...app, 'notes/x.md': 'x', '.git/manifest.json': '{', 'README.md': 'x' });
    await shop.write({ 'app/manifest.json': { ...manifest(zapp({ guest_access: true })), author: 'me' } });
    expect(await summary()).toEqual({ ids: ['app-0'], problems: [] });
  });

  test('W60: a manifest has several applications, each with the logo that it names or logo.png', async () => {
    await shop.write({ ...app, 'app/logo.png': 'png', 'app/own.svg': '<svg/>' });
    await shop.write({ 'app/manifest.json': manifest(zapp(), zapp({ logo: 'own.svg' })) });
    const { entries } = await read();
    expect(entries.map(({ id, logo }) => [id, logo])).toEqual([
      ['app-0', 'logo.png'],
      ['app-1', 'own.svg'],
    ]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['is not JSON', { 'bad/manifest.json': '{' }, 'bad: manifest.json is not JSON: '],
    ['is of version 2', manifested({ ...manifest(), version: 2 }), 'bad: manifest.json version must be 1'],
    ['lacks a name', manifested(manifest(zapp({ name: '' }))), 'bad: zapps[0]: manifest.json name must have'],
    [
      'names a file elsewhere',
      manifested(manifest(zapp({ description: '../app/app.json' }))),
      'bad: App: manifest.json description must be the plain name',
    ],
    ['has no description', { 'bad/README.md': '' }, 'bad: App: There is no file app.json.'],
    ['has a description that is not JSON', described('{]'), 'bad: App: app.json is not JSON: '],
    [
      'has an invalid description',
      described({ ...application(), size: -1 }),
      'bad: App: app.json is not a valid description: /size ',
    ],
    ['has a readme that is not UTF-8', explained(Uint8Array.of(0xff)), 'bad: App: README.md is not UTF-8.'],
    ['has a file that is too large', explained(LARGE), 'bad: App: README.md is larger than 256 KiB.'],
    [
      'has a name of no address',
      { 'b&d/manifest.json': manifest() },
      'b&d: Its name must begin with a letter',
    ],
  ])(
    'W61, W62: a folder or file that %s is reported, and the others are there',
    async (_, files, problem) => {
      await shop.write({ 'bad/manifest.json': manifest(zapp()), ...files, ...app });
      const { ids, problems } = await summary();
      expect(ids).toEqual(['app-0']);
      expect(problems.some((one) => one.startsWith(problem))).toBe(true);
    },
  );

  test('W61: a shop without its folder is empty, and reports why', async () => {
    await shop.remove();
    const { ids, problems } = await summary();
    expect(ids).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(`The folder ${shop.root} can't be read: ENOENT`)]);
  });

  test('W62: a file of the largest size is read completely', async () => {
    await shop.write({ ...app, 'app/README.md': 'x'.repeat(MAX_FILE_BYTES) });
    expect((await read()).entries[0]?.readme).toHaveLength(MAX_FILE_BYTES);
  });

  test('W62: only files of the folder are read, for any requested name', async () => {
    await shop.write({ ...app, 'secret.txt': 'secret', 'app/.hidden': 'secret', 'app/sub/x': 'secret' });
    const files = await shop.open(kind);
    const names = ['../secret.txt', '.hidden', 'sub/x', 'sub', '/etc/hostname', 'README.md\0', ''];
    const requests = [
      ...[...names, 'constructor'].map((name) => ['app', name]),
      ...['', '.', '..'].map((folder) => [folder, 'secret.txt']),
      ...['../app', 'app/sub', '__proto__'].map((folder) => [folder, 'x']),
      ['../app', 'README.md'],
    ];
    for (const [folder = '', name = ''] of requests)
      expect([folder, name, await files.read(folder, name)]).toEqual([folder, name, notFound]);
    expect((await readFolder(files, '../app')).entries).toEqual([]);
  });

  test('W62: links may lead within the shop, not out of it', async () => {
    const manifests = { 'app/manifest.json': manifest(zapp()), 'app/README.md': '' };
    await shop.write({ ...manifests, 'real/app.json': application() });
    await symlink('../real/app.json', join(shop.root, 'app/app.json'));
    expect(await summary()).toEqual({ ids: ['app-0'], problems: [] });
    const outside = await ScratchShop.make();
    onTestFinished(() => outside.remove());
    await outside.write(app);
    await symlink(join(outside.root, 'app/README.md'), join(shop.root, 'app/out.md'));
    await symlink(join(outside.root, 'app'), join(shop.root, 'out'));
    const files = await shop.open(kind);
    const problem = expect.stringContaining('is a link to a place outside the shop.');
    expect(await files.read('app', 'out.md')).toEqual({ problem, missing: false });
    expect(await files.read('out', 'README.md')).toEqual({ problem, missing: false });
    expect((await summary()).ids).toEqual(['app-0']);
  });

  test('W61, W62: a folder in place of a file is reported', async () => {
    await shop.write({ 'app/manifest.json': manifest(zapp()), 'app/README.md': '' });
    await mkdir(join(shop.root, 'app/app.json'));
    expect((await summary()).problems).toEqual(['app: App: app.json is not a file.']);
  });

  test('W63: a parameter or logo that does not fit is left out and reported', async () => {
    const fitting = { kind: 'environment', name: 'SIZE', type: 'int', default: 3 };
    const parameters = [
      fitting,
      { ...fitting, type: 'string' },
      { ...fitting, name: 'OTHER' },
      { ...fitting, kind: 'volume' },
      { ...fitting, kind: 'command' },
      { ...fitting, kind: 'service_count', name: 'other' },
      { ...fitting, kind: 'resources', name: 'web' },
      { ...fitting, kind: 'resources', name: 'web.memory', default: null },
      { kind: 'command', name: 'web', type: 'int', default: 'sleep 1' },
      { kind: 'service_count', name: 'web', default: 3, max: 2 },
      'nonsense',
    ];
    await shop.write({ ...app, 'app/app.json': application(service({ environment: [['SIZE', '1']] })) });
    await shop.write({ 'app/manifest.json': manifest(zapp({ parameters, logo: 'logo.exe' })) });
    const { entries, problems } = await read();
    expect(entries[0]?.logo).toBe(null);
    expect(entries[0]?.parameters.map(({ key, default: standard }) => [key, standard])).toEqual([
      ['environment:SIZE', '3'],
      ['command:web', 'sleep 1'],
    ]);
    const reasons = problems.map(({ reason }) => reason.replace(/^The parameter (.*?) is left out: /, '$1 '));
    expect(reasons).toEqual([
      'SIZE another parameter has the same kind and name.',
      'OTHER no service in the description has the variable OTHER.',
      'SIZE kind must be "environment" or "command" or "service_count" or "resources".',
      'SIZE the description has no service SIZE.',
      'other the description has no service other.',
      'web its name must be <service>.memory or <service>.cores of a service in the description, not web.',
      'web.memory its default must be a whole number.',
      'web its default must be at most 2.',
      'parameters[10] must be an object.',
      'The logo logo.exe is left out: it must be a .png, .svg, .jpg, .jpeg or .webp file.',
    ]);
  });
});

const notFound = { problem: expect.any(String), missing: expect.any(Boolean) };

test('W62: a change in a folder takes effect at once', async () => {
  const shop = await ScratchShop.make();
  onTestFinished(() => shop.remove());
  await shop.write(app);
  const files = await shop.open('folder');
  expect((await readShop(files)).entries[0]?.readme).toBe('# App');
  await shop.write({ 'app/README.md': 'new' });
  expect((await readShop(files)).entries[0]?.readme).toBe('new');
});
