import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Which process holds a claim, so that the claims of a process that is gone are free at once.
 * Whoever is wrong about it does no harm: the result of a claim that was taken over is not stored.
 */

/** Its host, its process id, and when it was started: an id is given again. */
export const holderName = (): string => {
  own ??= [hostname().replaceAll(' ', ''), process.pid, startOf(process.pid) ?? ''].join(' ');
  return own;
};
let own: string | undefined;

/** False where it may be on another machine. */
export function isHolderGone(holder: string): boolean {
  const [host = '', pid = '', start = ''] = holder.split(' ');
  if (`${host} ${pid} ${start}` === holderName() || host !== hostname().replaceAll(' ', '')) return false;
  if (!/^[1-9]\d{0,9}$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const found = startOf(Number(pid));
  return found !== null && start !== '' && found !== start;
}

/** In ticks since the start of the machine; null where there is no /proc. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold anything. The time is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
