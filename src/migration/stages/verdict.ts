import { counted } from '../../base/counted.ts';
import {
  type Acceptance,
  type CheckState,
  type Counted,
  type Example,
  KNOWN_DIFFERENCE_PREFIX,
  latencyOfStep,
} from './counts.ts';

/** Decides by the counts whether it is safe to leave the old server. */
export interface VerdictSettings {
  readonly days: number;
  /** The least calls of each operation and protocol that is in use. */
  readonly callsMin: number;
}
export const VERDICT_DEFAULTS: VerdictSettings = { days: 7, callsMin: 100 };
/** If the share is larger, what looks like lag may be something else. */
const LAG_SHARE_MAX = 0.005;

export interface VerdictInput {
  readonly counts: readonly Counted[];
  readonly examples: readonly Example[];
  /** Calls of operations that the old server has and Columba lacks, whenever they were. */
  readonly unknown: readonly Counted[];
  readonly acceptances: readonly Acceptance[];
  readonly check: CheckState | null;
  /** Every operation of the contract, with its group. */
  readonly operations: readonly string[];
  /** When the period began. */
  readonly since: number;
}

export interface Rule {
  readonly name: 'calls' | 'unseen' | 'unknown' | 'different' | 'failed' | 'lag' | 'dropped' | 'check' | 'latency';
  readonly isMet: boolean;
  readonly detail: string;
}

export interface OperationCounts {
  readonly operation: string;
  readonly protocol: string;
  /** All calls that were compared or tried here. */
  readonly calls: number;
  readonly recorded: number;
  readonly equal: number;
  readonly lag: number;
  readonly order: number;
  readonly byDesign: number;
  readonly different: number;
  readonly failed: number;
  readonly skipped: number;
  readonly led: number;
  readonly dropped: number;
  readonly oldP95Ms: number | null;
  readonly ourP95Ms: number | null;
}

export interface KnownDifferenceCounts {
  readonly name: string;
  readonly total: number;
  readonly example: string | null;
}

export interface Verdict {
  readonly isSafe: boolean;
  readonly rules: readonly Rule[];
  readonly operations: readonly OperationCounts[];
  readonly knownDifferences: readonly KnownDifferenceCounts[];
  /** Examples of the outcomes different and failed. */
  readonly examples: readonly Example[];
  /** Operations that were neither accepted nor called in the period. */
  readonly neverSeen: readonly string[];
  readonly unknown: readonly UnknownOperation[];
  readonly oldP95Ms: number | null;
  readonly ourP95Ms: number | null;
}

/** An operation that the old server has and Columba lacks. */
export interface UnknownOperation {
  readonly operation: string;
  readonly calls: number;
  /** Whether a person accepted that Columba lacks it. */
  readonly isAccepted: boolean;
}

export function verdictOf(input: VerdictInput, { callsMin }: VerdictSettings): Verdict {
  const operations = countsOfOperation(input.counts);
  const accepted = new Set(input.acceptances.map(({ operation }) => operation));
  const seen = new Set(operations.map(({ operation }) => operation));
  const neverSeen = input.operations.filter((each) => !seen.has(each) && !accepted.has(each));
  const unknown = unknownOf(input.unknown, accepted);
  const oldP95Ms = percentile(input.counts, 'old ms ');
  const ourP95Ms = percentile(input.counts, 'our ms ');
  const rules = rulesOf({ operations, accepted, neverSeen, unknown, oldP95Ms, ourP95Ms }, input, callsMin);
  return {
    isSafe: rules.every(({ isMet }) => isMet),
    rules,
    operations,
    knownDifferences: knownDifferencesOf(input),
    examples: input.examples.filter(({ name }) => name === 'different' || name === 'failed'),
    neverSeen,
    unknown,
    oldP95Ms,
    ourP95Ms,
  };
}

function unknownOf(counts: readonly Counted[], accepted: ReadonlySet<string>): UnknownOperation[] {
  return [...Map.groupBy(counts, ({ operation }) => operation)].map(([operation, rows]) => ({
    operation,
    calls: rows.reduce((sum, { total }) => sum + total, 0),
    isAccepted: accepted.has(operation),
  }));
}

interface Found {
  readonly operations: readonly OperationCounts[];
  readonly accepted: ReadonlySet<string>;
  readonly neverSeen: readonly string[];
  readonly unknown: readonly UnknownOperation[];
  readonly oldP95Ms: number | null;
  readonly ourP95Ms: number | null;
}

function rulesOf(found: Found, { check, since }: VerdictInput, callsMin: number): Rule[] {
  const { operations, accepted, neverSeen, unknown, oldP95Ms, ourP95Ms } = found;
  const lacking = unknown.filter(({ isAccepted }) => !isAccepted);
  const sum = (of: (each: OperationCounts) => number) => operations.reduce((total, each) => total + of(each), 0);
  const few = operations.filter(({ operation, calls }) => calls < callsMin && !accepted.has(operation));
  const compared = sum(({ calls }) => calls);
  const [different, failed, lag, dropped] = [
    sum((each) => each.different),
    sum((each) => each.failed),
    sum((each) => each.lag),
    sum((each) => each.dropped),
  ];
  const fewNames = few.map(({ operation, protocol, calls }) => `${operation} ${protocol} ${calls}`);
  const lagShare = compared === 0 ? 0 : lag / compared;
  return [
    {
      name: 'calls',
      isMet: operations.length > 0 && few.length === 0,
      detail: operations.length === 0 ? 'nothing was compared' : listed(fewNames, `at least ${callsMin} of each`),
    },
    { name: 'unseen', isMet: neverSeen.length === 0, detail: listed(neverSeen, 'none is open') },
    {
      name: 'unknown',
      isMet: lacking.length === 0,
      detail: listed(
        lacking.map(({ operation, calls }) => `${operation} ${calls}`),
        'none is open',
      ),
    },
    { name: 'different', isMet: different === 0, detail: `${different} of ${counted(compared, 'answer')}` },
    {
      name: 'failed',
      isMet: failed === 0,
      detail: `${counted(failed, 'error')} of Columba in ${counted(compared, 'call')}`,
    },
    {
      name: 'lag',
      isMet: lagShare < LAG_SHARE_MAX,
      detail: `${(lagShare * 100).toFixed(2)} % of the answers were equal only after a sync`,
    },
    { name: 'dropped', isMet: dropped === 0, detail: `not compared: ${counted(dropped, 'call')}` },
    { name: 'check', isMet: check?.isEqual === true && check.at >= since, detail: checkDetail(check, since) },
    {
      name: 'latency',
      isMet: ourP95Ms !== null && oldP95Ms !== null && ourP95Ms <= oldP95Ms,
      detail: `the 95th percentile is ${shownMs(ourP95Ms)} for Columba and ${shownMs(oldP95Ms)} for the old server`,
    },
  ];
}

function checkDetail(check: CheckState | null, since: number): string {
  if (check === null) return 'never run';
  const day = new Date(check.at).toISOString().slice(0, 10);
  if (check.at < since) return `last run on ${day}, before the period`;
  if (check.isWhole === false) return `not all accounts could be checked on ${day}`;
  return check.isEqual ? `equal on ${day}` : `different on ${day}`;
}

const shownMs = (ms: number | null): string => (ms === null ? 'not known' : `${ms.toFixed(1)} ms`);

const LISTED_MAX = 40;
const listed = (names: readonly string[], none: string): string => {
  if (names.length === 0) return none;
  const more = names.length > LISTED_MAX ? ` and ${names.length - LISTED_MAX} more` : '';
  return `${names.length}: ${names.slice(0, LISTED_MAX).join(', ')}${more}`;
};

const OUTCOMES = ['equal', 'lag', 'order', 'by design', 'different', 'failed', 'skipped', 'led'];

function countsOfOperation(counts: readonly Counted[]): OperationCounts[] {
  const groups = Map.groupBy(counts, ({ operation, protocol }) => `${operation} ${protocol}`);
  return [...groups.values()].flatMap((rows) => {
    const [first] = rows;
    const of = (name: string) => rows.find((row) => row.name === name)?.total ?? 0;
    const calls = OUTCOMES.reduce((sum, name) => sum + of(name), 0);
    if (!first || (calls === 0 && of('recorded') === 0 && of('dropped') === 0)) return [];
    return [
      {
        operation: first.operation,
        protocol: first.protocol,
        calls,
        recorded: of('recorded'),
        equal: of('equal'),
        lag: of('lag'),
        order: of('order'),
        byDesign: of('by design'),
        different: of('different'),
        failed: of('failed'),
        skipped: of('skipped'),
        led: of('led'),
        dropped: of('dropped'),
        oldP95Ms: percentile(rows, 'old ms '),
        ourP95Ms: percentile(rows, 'our ms '),
      },
    ];
  });
}

function knownDifferencesOf({ counts, examples }: VerdictInput): KnownDifferenceCounts[] {
  const known = counts.filter(({ name }) => name.startsWith(KNOWN_DIFFERENCE_PREFIX));
  return [...Map.groupBy(known, ({ name }) => name)].map(([name, rows]) => ({
    name: name.slice(KNOWN_DIFFERENCE_PREFIX.length),
    total: rows.reduce((sum, { total }) => sum + total, 0),
    example: examples.find((each) => each.name === name)?.example ?? null,
  }));
}

/** The 95th percentile of counted steps; null without any. */
function percentile(counts: readonly Counted[], prefix: string): number | null {
  const steps = new Map<number, number>();
  for (const { name, total } of counts) {
    if (!name.startsWith(prefix)) continue;
    const step = Number(name.slice(prefix.length));
    steps.set(step, (steps.get(step) ?? 0) + total);
  }
  const all = [...steps.values()].reduce((sum, each) => sum + each, 0);
  let passed = 0;
  for (const [step, total] of [...steps].sort(([one], [other]) => one - other)) {
    passed += total;
    if (passed >= all * 0.95) return latencyOfStep(step);
  }
  return null;
}
