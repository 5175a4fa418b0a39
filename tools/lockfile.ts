import { readFileSync } from 'node:fs';

/** package-lock.json, as far as the tools here need it. */
export interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lockfile {
  readonly lockfileVersion: number;
  /** By the folder that they are installed in; '' is the project itself. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface Installed extends LockedPackage {
  readonly path: string;
  readonly name: string;
  readonly version: string;
}

export const readLockfile = (): Lockfile =>
  JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));

/** All packages but the project itself, in the order of their folders. */
export const packagesOf = (lock: Lockfile): Installed[] =>
  Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({ ...entry, path, name: nameAt(path, entry), version: entry.version ?? '' }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));

/** Those that `npm ci --omit=dev` installs, on any platform. */
export const runtimeOf = (lock: Lockfile): Installed[] => packagesOf(lock).filter(({ dev }) => dev !== true);

/** npm writes the name only where the folder has another one. */
const nameAt = (path: string, { name }: LockedPackage): string =>
  name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** The folder where a package finds another. Node looks among its own packages, then in each folder above. */
export function resolveFrom(lock: Lockfile, path: string, name: string): string | undefined {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const candidate = `${at}${at && '/'}node_modules/${name}`;
    if (lock.packages[candidate]) return candidate;
    if (at === '') return undefined;
  }
}
