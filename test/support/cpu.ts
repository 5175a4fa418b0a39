import { appendFileSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Of Linux: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, whose ticks are hundredths of a second. */
const TICKS_PER_SECOND = 100;
/** What follows the name, which may hold anything, begins with the third field. */
const FIRST_FIELD = 3;
const OWN_FIELDS = [14, 15];
const CHILDREN_FIELDS = [16, 17];

function secondsOf(fields: readonly number[]): number {
  const values = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.reduce((sum, field) => sum + Number(values[field - FIRST_FIELD]), 0) / TICKS_PER_SECOND;
}

/** Seconds of CPU, user and system, of all processes below this one that have ended; null where there is no /proc. */
export const cpuOfChildren = (): number | null => (process.platform === 'linux' ? secondsOf(CHILDREN_FIELDS) : null);

let measured = 0;
const told = (seconds: number, file: string): string => `${seconds.toFixed(2).padStart(8)} s  ${file}\n`;

/** Where a file has a process of its own, that tells at its end what it and those that it started have cost. */
export function measureProcess(into: string, file: string): void {
  process.once('exit', () => appendFileSync(into, told(secondsOf([...OWN_FIELDS, ...CHILDREN_FIELDS]), file)));
}

/** Tests of a process run one after the other: this one comes after those of the file, and tells what they cost. */
export function measure(into: string, file: string): void {
  test(`CPU of ${file}`, () => {
    const before = measured;
    measured = secondsOf([...OWN_FIELDS, ...CHILDREN_FIELDS]);
    appendFileSync(into, told(measured - before, file));
  });
}
