/** Decides which npm packages a control plane needs at run time, by `package-lock.json`. Pure. */

export interface Lock {
  packages: Record<string, LockedPackage>;
}

interface LockedPackage {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

/**
 * The folders of the packages, in order of their names. `versionAt` returns the version that is installed in
 * a folder, if any. Optional packages are those of this platform. Node, an optional package of Berth itself,
 * comes with the base image instead. Throws if what is installed is not what is locked.
 */
export function runtimePackages(
  { packages }: Lock,
  versionAt: (folder: string) => string | undefined,
): string[] {
  const own = new Set(Object.keys(packages['']?.optionalDependencies ?? {}));
  const needed = Object.entries(packages).filter(
    ([folder, { dev }]) => folder !== '' && !dev && !own.has(folder.replace('node_modules/', '')),
  );
  return needed
    .filter(([folder, { version, optional }]) => {
      const installed = versionAt(folder);
      if (installed === version) return true;
      if (installed === undefined && optional) return false;
      throw new Error(`${folder} is ${installed ?? 'missing'}, and not ${version}: run npm ci first.`);
    })
    .map(([folder]) => folder)
    .sort();
}
