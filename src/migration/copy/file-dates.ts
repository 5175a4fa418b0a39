import { parseDateBy } from '../../asmx/contract/dates.ts';
import { Problem } from '../../base/problem.ts';

/** Reads times in files. A format is written as in .NET and Java: dd.MM.yyyy HH:mm:ss */
export interface FileTime {
  readonly at: number;
  /** The precision in milliseconds, because a file may tell only the second or the minute. */
  readonly unit: number;
}
export type ReadTime = (text: string) => FileTime | null;

const PARTS: Readonly<Record<string, string>> = {
  yyyy: String.raw`(?<year>\d{4})`,
  yy: String.raw`(?<year>\d\d)`,
  MMM: '(?<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)',
  MM: String.raw`(?<month>\d{1,2})`,
  M: String.raw`(?<month>\d{1,2})`,
  dd: String.raw`(?<day>\d{1,2})`,
  d: String.raw`(?<day>\d{1,2})`,
  HH: String.raw`(?<hour>\d{1,2})`,
  H: String.raw`(?<hour>\d{1,2})`,
  hh: String.raw`(?<hour>\d{1,2})`,
  h: String.raw`(?<hour>\d{1,2})`,
  mm: String.raw`(?<minute>\d\d)`,
  ss: String.raw`(?<second>\d\d)`,
  tt: '(?<half>[AP])M',
  zzz: String.raw`(?<zone>Z|[+-]\d\d:?\d\d)`,
};
const FRACTION = String.raw`(?<fraction>\d{1,9})`;

/** Dates with the year first, or with dots, which nobody writes with the month first. */
const CLEAR = [
  String.raw`(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})`,
  String.raw`(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})`,
].map(
  (date) =>
    new RegExp(
      String.raw`^${date}(?:T|,? +)(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?(?: *(?<zone>Z|[+-]\d\d:?\d\d))?$`,
      'i',
    ),
);

/** Without a format, only times that can be read in one way are accepted. */
export function timeReader(format: string | null, zone: string): ReadTime {
  const formats = format === null ? CLEAR : [compiled(format)];
  const context = { now: 0, zone };
  return (text) => {
    for (const each of formats) {
      const at = parseDateBy(each, text, context);
      if (at !== null) return { at, unit: hasSeconds(format ?? text, format !== null) ? 1_000 : 60_000 };
    }
    return null;
  };
}

const hasSeconds = (text: string, isFormat: boolean): boolean =>
  isFormat ? text.includes('ss') : /:\d\d:\d\d/.test(text);

function compiled(format: string): RegExp {
  const names = new Set<string>();
  const pattern = format.replace(/'([^']*)'|([fS]+)|([A-Za-z])\3*|[^A-Za-z]/g, (piece, quoted, fraction) => {
    if (quoted !== undefined) return literal(quoted);
    const part = fraction ? FRACTION : PARTS[piece];
    if (part === undefined) {
      if (piece === 'T' || !/[A-Za-z]/.test(piece)) return literal(piece);
      throw wrongFormat(format, `${piece} is none of ${Object.keys(PARTS).join(', ')} and fff`);
    }
    const name = /<(\w+)>/.exec(part)?.[1] ?? '';
    if (names.has(name)) throw wrongFormat(format, `it has the ${name} twice`);
    names.add(name === 'name' ? 'month' : name);
    return part;
  });
  const missing = ['year', 'month', 'day', 'hour', 'minute'].filter((name) => !names.has(name));
  if (missing.length > 0) throw wrongFormat(format, `it lacks the ${missing.join(', ')}`);
  return new RegExp(`^${pattern}$`, 'i');
}

const literal = (text: string): string => text.replace(/[^\w\s]/g, '\\$&');

const wrongFormat = (format: string, reason: string): Problem =>
  new Problem('bad-argument', `--dates ${format}: ${reason}. Expected a format such as "dd.MM.yyyy HH:mm:ss".`);
