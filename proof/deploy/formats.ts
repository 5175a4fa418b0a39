import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';

/** The files for running Columba elsewhere, read as the programs that use them read them. */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

export interface Instruction {
  readonly name: string;
  /** `--from=packages` as from → packages. */
  readonly flags: Readonly<Record<string, string>>;
  readonly value: string;
}

/** A line that ends in \ goes on in the next; comments stand alone, also between such lines. */
export function readDockerfile(file: string): Instruction[] {
  const lines = read(file)
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line));
  const whole = lines.join('\n').replace(/\\\n\s*/g, '');
  return whole.split('\n').map((line) => {
    const [, name = '', flags = '', value = ''] = /^(\S+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
    const pairs = [...flags.matchAll(/--([\w-]+)=(\S+)/g)].map((match) => [match[1], match[2]]);
    return { name: name.toUpperCase(), flags: Object.fromEntries(pairs), value: value.trim() };
  });
}

/** The stages, each from its FROM on. */
export function stagesOf(instructions: readonly Instruction[]): Instruction[][] {
  const stages: Instruction[][] = [];
  for (const instruction of instructions) {
    if (instruction.name === 'FROM') stages.push([]);
    stages.at(-1)?.push(instruction);
  }
  return stages;
}

/** NAME=value and NAME="some value", several of them. */
export const pairsOf = (value: string): Record<string, string> =>
  Object.fromEntries(
    [...value.matchAll(/([\w.]+)=("[^"]*"|\S*)/g)].map((match) => [
      match[1],
      (match[2] as string).replace(/^"|"$/g, ''),
    ]),
  );

/** Of a systemd unit: the lines of each section, in their order. */
export function readUnit(file: string): Map<string, [key: string, value: string][]> {
  const sections = new Map<string, [string, string][]>();
  let current: [string, string][] = [];
  for (const line of read(file).split('\n')) {
    const [, section] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (section !== undefined) {
      current = [];
      sections.set(section, current);
    } else if (key !== undefined) current.push([key, value]);
    else if (!/^(#|$)/.test(line)) throw new Error(`${file}: not a line of a unit: ${line}`);
  }
  return sections;
}

export interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs: readonly string[];
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly user?: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly cap_add?: readonly string[];
  readonly privileged?: boolean;
  readonly security_opt: readonly string[];
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Keys that stand twice, and anything else that YAML 1.2 does not allow, throw. */
export const readCompose = (): Compose => parse(read('examples/deploy/compose.yaml'), { merge: true, strict: true });

// biome-ignore lint/suspicious/noExplicitAny: an object of Kubernetes, of five kinds
export type KubernetesObject = any;

export const readKubernetes = (): KubernetesObject[] =>
  parseAllDocuments(read('examples/deploy/kubernetes.yaml'), { strict: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });

/** Groups of Kannel's configuration: its blank lines part them. */
export const readKannel = (path: string): Record<string, string>[] =>
  read(path)
    .split(/\n\s*\n/)
    .map((block) => block.split('\n').filter((line) => !/^\s*(#|$)/.test(line)))
    .filter((lines) => lines.length > 0)
    .map((lines) =>
      Object.fromEntries(
        lines.map((line) => {
          const [, key = '', value = ''] = /^([\w-]+)\s*=\s*(.*)$/.exec(line) ?? [];
          if (key === '') throw new Error(`not a line of Kannel: ${line}`);
          return [key, value.replace(/^"(.*)"$/, '$1')];
        }),
      ),
    );
