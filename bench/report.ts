import { cpus, loadavg } from 'node:os';

/** Tables to stdout, in Markdown; how far it is to stderr. */
export const print = (...lines: string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

const startedAt = Date.now();
const loadBefore = loadavg()[0]?.toFixed(1);
export const say = (line: string): void =>
  void process.stderr.write(`${((Date.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${line}\n`);

export function heading(title: string, ...lines: string[]): void {
  const processors = cpus();
  const machine = `${processors.length} × ${processors[0]?.model.trim() || 'unknown processor'}`;
  print(
    ...['', `## ${title}`, '', ...lines],
    `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${machine}, load ${loadBefore} before.`,
  );
}

export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  print('', line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line), '');
}

export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
export const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
export const whole = (value: number): string => Math.round(value).toLocaleString('en');
