/** Reads a shop from its folders: each application becomes an entry or a problem (SHOP-1 to SHOP-4). */
import { validateApplication } from '../../../shared/application.ts';
import { entryId, type ShopEntry, type ShopProblem } from '../../core/shop/shop.ts';
import { fitParameter, type Parameter } from '../../core/shop/shop-parameters.ts';
import { MAX_FOLDERS, PLAIN_NAME, type ShopFiles } from './shop-files.ts';
import { type DeclaredApplication, parseJson, readManifest } from './shop-manifest.ts';

const MANIFEST = 'manifest.json';
/** The default if the manifest names no logo, as in Zoe. */
const DEFAULT_LOGO = 'logo.png';

export interface Shop {
  entries: ShopEntry[];
  problems: ShopProblem[];
}

/** Ignores folders without a manifest. */
export async function readShop(files: ShopFiles): Promise<Shop> {
  const shop: Shop = { entries: [], problems: [] };
  const all = await files.folders();
  if ('problem' in all) return { entries: [], problems: [{ where: 'the shop', reason: all.problem }] };
  if (all.folders.length > MAX_FOLDERS) {
    const reason = `It has ${all.folders.length} folders; only the first ${MAX_FOLDERS} are read.`;
    shop.problems.push({ where: 'the shop', reason });
  }
  for (const folder of all.folders.slice(0, MAX_FOLDERS)) {
    const { entries, problems } = await readFolder(files, folder);
    shop.entries.push(...entries);
    shop.problems.push(...problems);
  }
  return shop;
}

export async function readFolder(files: ShopFiles, folder: string): Promise<Shop> {
  const failed = (reason: string): Shop => ({ entries: [], problems: [{ where: folder, reason }] });
  const file = await readText(files, folder, MANIFEST);
  if ('problem' in file) return file.missing ? { entries: [], problems: [] } : failed(file.problem);
  if (!PLAIN_NAME.test(folder))
    return failed(
      'Its name must begin with a letter or digit, and contain only letters, digits, ".", "_", "-" and spaces.',
    );
  const manifest = readManifest(file.text);
  if ('problem' in manifest) return failed(`${MANIFEST} ${manifest.problem}`);
  const shop: Shop = { entries: [], problems: [] };
  for (const [index, declared] of manifest.applications.entries()) {
    const report = (reason: string) => shop.problems.push({ where: `${folder}: ${declared.name}`, reason });
    if ('problem' in declared) {
      report(`${MANIFEST} ${declared.problem}`);
      continue;
    }
    const entry = await readEntry(files, folder, index, declared, report);
    if (entry) shop.entries.push(entry);
  }
  return shop;
}

type Report = (reason: string) => void;

/** Undefined if the application cannot be started or has no readme; the problem has been reported. */
async function readEntry(
  files: ShopFiles,
  folder: string,
  index: number,
  declared: DeclaredApplication,
  report: Report,
): Promise<ShopEntry | undefined> {
  const { category, name, disabledFor } = declared;
  const description = await readText(files, folder, declared.description);
  const readme = await readText(files, folder, declared.readme);
  for (const file of [description, readme]) if ('problem' in file) report(file.problem);
  if ('problem' in description || 'problem' in readme) return undefined;
  const json = parseJson(description.text);
  if ('problem' in json) {
    report(`${declared.description} ${json.problem}`);
    return undefined;
  }
  const validation = validateApplication(json.value);
  if (!validation.valid) {
    const problems = validation.problems.slice(0, 10).map(({ pointer, message }) => `${pointer} ${message}`);
    report(`${declared.description} is not a valid description: ${problems.join('; ')}`);
    return undefined;
  }
  const { application } = validation;
  const parameters = fitParameters(declared, application, report);
  const logo = await findLogo(files, folder, declared.logo, report);
  const id = entryId(folder, index);
  return { id, folder, category, name, application, readme: readme.text, logo, parameters, disabledFor };
}

/** Keeps the parameters that match the description, and reports the others. */
function fitParameters(
  { parameters }: DeclaredApplication,
  application: ShopEntry['application'],
  report: Report,
): Parameter[] {
  const fitted = new Map<string, Parameter>();
  for (const declared of parameters) {
    const fit = 'problem' in declared ? declared : fitParameter(declared, application);
    const leaveOut = (problem: string) => report(`The parameter ${declared.name} is left out: ${problem}.`);
    if ('problem' in fit) leaveOut(fit.problem);
    else if (fitted.has(fit.parameter.key)) leaveOut('another parameter has the same kind and name');
    else fitted.set(fit.parameter.key, fit.parameter);
  }
  return [...fitted.values()];
}

/** A missing or broken logo is reported, and never hides the entry. */
async function findLogo(
  files: ShopFiles,
  folder: string,
  declared: string | null,
  report: Report,
): Promise<string | null> {
  const name = declared ?? DEFAULT_LOGO;
  if (!pictureType(name)) {
    report(`The logo ${name} is left out: it must be a .png, .svg, .jpg, .jpeg or .webp file.`);
    return null;
  }
  const file = await files.read(folder, name);
  if ('content' in file) return name;
  if (declared !== null || !file.missing) report(`The logo is left out: ${file.problem}`);
  return null;
}

const PICTURES: Readonly<Record<string, string>> = {
  png: 'image/png',
  svg: 'image/svg+xml',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

/** The content type of a picture by its file name; undefined for all other files. */
export function pictureType(name: string): string | undefined {
  const ending = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(PICTURES, ending) ? PICTURES[ending] : undefined;
}

async function readText(
  files: ShopFiles,
  folder: string,
  name: string,
): Promise<{ text: string } | { problem: string; missing: boolean }> {
  const file = await files.read(folder, name);
  if ('problem' in file) return file;
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(file.content) };
  } catch {
    return { problem: `${name} is not UTF-8.`, missing: false };
  }
}
