import { spawnSync } from 'node:child_process';

/**
 * `npm audit`, where the registry offers it. A finding in what runs with the service is an error; one in what only the
 * development needs is told. A registry without an audit is no error: it is said, and things go on.
 */
export type Outcome =
  | { readonly kind: 'clean' }
  | { readonly kind: 'findings'; readonly findings: readonly string[] }
  | { readonly kind: 'not offered'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

interface AuditOutput {
  readonly auditReportVersion?: number;
  readonly vulnerabilities?: Readonly<Record<string, Finding>>;
  readonly message?: string;
  readonly error?: { readonly code?: string; readonly summary?: string };
}

interface Finding {
  readonly name: string;
  readonly severity: string;
  /** An advisory, or the name of the package that brings it. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

/**
 * What `npm audit --json` of npm 10 and 11 writes. A report has a version. A fault of the endpoint
 * (not there, not reached, another answer) is a message without a code. Errors of npm itself have a code.
 */
export function readAudit(output: string): Outcome {
  let json: AuditOutput | null;
  try {
    json = JSON.parse(output);
  } catch {
    return { kind: 'failed', reason: output.trim().split('\n')[0] || 'npm wrote nothing' };
  }
  if (json?.auditReportVersion !== undefined && json.vulnerabilities) {
    const findings = Object.values(json.vulnerabilities).map(lineOf);
    return findings.length > 0 ? { kind: 'findings', findings } : { kind: 'clean' };
  }
  if (json?.error?.code) return { kind: 'failed', reason: `${json.error.code} ${json.error.summary ?? ''}`.trim() };
  if (json?.message) return { kind: 'not offered', reason: json.message };
  return { kind: 'failed', reason: 'npm wrote no report' };
}

const lineOf = ({ name, severity, via }: Finding): string =>
  `${name}: ${severity}, ${via.map((each) => (typeof each === 'string' ? `through ${each}` : `${each.title} ${each.url}`)).join('; ')}`;

/** Lines for people, and whether the build may go on. `everything` is asked only where the first audit was given. */
export function judge(runtime: Outcome, everything: () => Outcome): { lines: readonly string[]; passed: boolean } {
  switch (runtime.kind) {
    case 'not offered':
      return {
        lines: [`npm audit: the registry does not offer it, going on without (${runtime.reason})`],
        passed: true,
      };
    case 'failed':
      return { lines: [`npm audit: it could not be run: ${runtime.reason}`], passed: false };
    case 'findings':
      return { lines: ['npm audit: findings in what runs with the service', ...runtime.findings], passed: false };
    case 'clean':
      return { lines: ['npm audit: nothing found in what runs with the service', ...told(everything())], passed: true };
  }
}

function told(outcome: Outcome): string[] {
  if (outcome.kind === 'clean') return ['npm audit: nothing found in what the development needs'];
  if (outcome.kind === 'findings') return ['npm audit: findings in what the development needs', ...outcome.findings];
  return [`npm audit: no answer about what the development needs (${outcome.reason})`];
}

/** Not the npm settings of the machine, which may retry for minutes where there is no network. */
const OPTIONS = ['--json', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000'];

function audit(...more: string[]): Outcome {
  const { stdout, error } = spawnSync('npm', ['audit', ...OPTIONS, ...more], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32', // there it is npm.cmd
    maxBuffer: 2 ** 26,
  });
  return error ? { kind: 'failed', reason: error.message } : readAudit(stdout);
}

if (import.meta.main) {
  const { lines, passed } = judge(audit('--omit=dev'), () => audit());
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = passed ? 0 : 1;
}
