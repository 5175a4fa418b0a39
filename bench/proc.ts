import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** What Linux tells about processes. */

/**
 * CPU that these have taken so far, in microseconds. The scheduler counts it in nanoseconds, for
 * each thread that lives. Where it does not, clock ticks count: 100 a second on every Linux.
 */
export const cpuUs = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuUsOf(pid), 0);

/** For `cpuSince`. */
export const cpuByPid = (pids: readonly number[]): ReadonlyMap<number, number> =>
  new Map(pids.map((pid) => [pid, cpuUsOf(pid)]));

/** What these have taken since then. One that has ended meanwhile does not count: its time is gone with it. */
export const cpuSince = (before: ReadonlyMap<number, number>, pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + cpuUsOf(pid) - (before.get(pid) ?? 0), 0);

function cpuUsOf(pid: number): number {
  const threads = entriesOf(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => Number(textOf(`/proc/${pid}/task/${thread}/schedstat`).split(' ', 1)[0]));
  if (nanoseconds.some((each) => each > 0)) return nanoseconds.reduce((sum, each) => sum + each, 0) / 1_000;
  const fields = textOf(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10_000;
}

/** CPU of the first thread of a process, which runs its JavaScript and, with SQLite, its statements. */
export const mainThreadUs = (pid: number): number =>
  Number(textOf(`/proc/${pid}/task/${pid}/schedstat`).split(' ', 1)[0]) / 1_000;

/** CPU of the children that have ended, in microseconds. Clock ticks: 100 a second on every Linux. */
export function endedChildrenUs(pid: number): number {
  const fields = textOf(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * 10_000;
}

/** Of one process what is resident; of several their shares, since most of it is the same memory. */
export function memoryBytes(pids: readonly number[]): number {
  if (pids.length === 1) return kilobytesIn(`/proc/${pids[0]}/status`, 'VmRSS') * 1_024;
  return pids.reduce((sum, pid) => sum + kilobytesIn(`/proc/${pid}/smaps_rollup`, 'Pss') * 1_024, 0);
}

/** Of that what is in no file: the system cannot take it back. */
export function ownBytes(pids: readonly number[]): number {
  if (pids.length === 1) return kilobytesIn(`/proc/${pids[0]}/status`, 'RssAnon') * 1_024;
  return pids.reduce((sum, pid) => sum + kilobytesIn(`/proc/${pid}/smaps_rollup`, 'Pss_Anon') * 1_024, 0);
}

/** The most that was resident since the last `resetPeak`. */
export const peakBytes = (pid: number): number => kilobytesIn(`/proc/${pid}/status`, 'VmHWM') * 1_024;
/** https://www.kernel.org/doc/html/latest/filesystems/proc.html: 5 resets the peak. */
export const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

export const socketsOf = (pid: number): number =>
  entriesOf(`/proc/${pid}/fd`).filter((name) => linkOf(`/proc/${pid}/fd/${name}`).startsWith('socket:')).length;

export const childrenOf = (pid: number): number[] =>
  textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

const kilobytesIn = (file: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(textOf(file))?.[1] ?? 0);

// A thread, a file or a process that has ended meanwhile is nothing.
const textOf = (file: string): string => ifThere(() => readFileSync(file, 'utf8'), '').trim();
const entriesOf = (folder: string): string[] => ifThere(() => readdirSync(folder), []);
const linkOf = (file: string): string => ifThere(() => readlinkSync(file), '');

function ifThere<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
