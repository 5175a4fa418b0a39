import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Installed, type Lockfile, readLockfile, resolveFrom, runtimeOf } from './lockfile.ts';

/**
 * The packages that run with the service, as CycloneDX 1.6: https://cyclonedx.org/docs/1.6/json/. It is made of the lockfile
 * alone, so equal lockfiles give equal bytes. `npm sbom --omit=dev` (npm 10 and 11) writes
 * CycloneDX 1.5 with a random serial number and the time. It leaves out what a development package
 * needs too, such as pg.
 */
export interface Sbom {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: {
    readonly timestamp?: string;
    readonly lifecycles: readonly { readonly phase: 'pre-build' }[];
    readonly component: Component;
  };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: 'required' | 'optional';
  readonly licenses?: readonly Licence[];
  readonly purl?: string;
  readonly cpe?: string;
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
}

type Licence = { readonly license: { readonly id: string } } | { readonly expression: string };

interface Project {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** `epochSeconds` is a time that belongs to the source, such as that of the commit. Without it there is none. */
export function createSbom(project: Project, lock: Lockfile, epochSeconds?: number): Sbom {
  const installed = runtimeOf(lock);
  const refs = new Map(installed.map((each) => [each.path, refOf(each)]));
  const root = `${project.name}@${project.version}`;
  const edges = (path: string): string[] => {
    const { dependencies, optionalDependencies } = lock.packages[path] ?? {};
    const found = Object.keys({ ...dependencies, ...optionalDependencies })
      .map((name) => refs.get(resolveFrom(lock, path, name) ?? ''))
      .filter((ref) => ref !== undefined);
    return [...new Set(found)].sort();
  };
  // A package that is installed in two folders in one version is one component, and needs what both copies need.
  const components = new Map(installed.map((each) => [refOf(each), componentOf(each)]));
  const dependencies = [...components.keys()].sort().map((ref) => {
    const copies = installed.filter((each) => refOf(each) === ref);
    return { ref, dependsOn: [...new Set(copies.flatMap(({ path }) => edges(path)))].sort() };
  });
  const content = {
    metadata: {
      ...(epochSeconds !== undefined && { timestamp: new Date(epochSeconds * 1_000).toISOString() }),
      lifecycles: [{ phase: 'pre-build' as const }],
      component: {
        type: 'application' as const,
        'bom-ref': root,
        name: project.name,
        version: project.version,
        licenses: [licenceOf(project.license)],
        // No purl: the project is on no registry, and on npm the name may be that of another.
      },
    },
    components: [...components.keys()].sort().map((ref) => components.get(ref) as Component),
    dependencies: [{ ref: root, dependsOn: edges('') }, ...dependencies],
  };
  return { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serialOf(content), version: 1, ...content };
}

const refOf = ({ name, version }: Installed): string => `${name}@${version}`;

function componentOf(entry: Installed): Component {
  const { name, version, license, integrity, optional } = entry;
  const [group, bare] = name.startsWith('@') ? name.split('/') : [undefined, name];
  return {
    type: 'library',
    'bom-ref': refOf(entry),
    ...(group !== undefined && { group }),
    name: bare as string,
    version,
    scope: optional ? 'optional' : 'required',
    ...(license !== undefined && { licenses: [licenceOf(license)] }),
    purl: `pkg:npm/${name.split('/').map(encodeURIComponent).join('/')}@${encodeURIComponent(version)}`,
    // Advisories about Node name Node, and not the packages that bring it.
    ...(/^node-(bin-)?(darwin|linux|win)-/.test(name) && { cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` }),
    ...(integrity !== undefined && { hashes: hashesOf(integrity) }),
  };
}

/** Of the archive that npm downloads; several may stand there, with blanks. */
const hashesOf = (integrity: string) =>
  integrity
    .split(' ')
    .filter((each) => each.startsWith('sha512-'))
    .map((each) => ({
      alg: 'SHA-512' as const,
      content: Buffer.from(each.slice('sha512-'.length), 'base64').toString('hex'),
    }));

const licenceOf = (license: string): Licence =>
  /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license };

/** RFC 9562 §5.8: a UUID of our own making, here the SHA-256 of the content. */
function serialOf(content: object): string {
  const bytes = createHash('sha256').update(JSON.stringify(content)).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return `urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}

if (import.meta.main) {
  const project: Project = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { SOURCE_DATE_EPOCH } = process.env; // https://reproducible-builds.org/specs/source-date-epoch/
  const sbom = createSbom(project, readLockfile(), SOURCE_DATE_EPOCH ? Number(SOURCE_DATE_EPOCH) : undefined);
  const path = process.argv[2] ?? `tmp/${project.name}-${project.version}.cdx.json`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(sbom, null, 2)}\n`);
  process.stdout.write(`Wrote ${path}: ${sbom.components.length} components.\n`);
}
