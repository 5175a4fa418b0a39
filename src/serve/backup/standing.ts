import { wasRestored } from '../../store/sqlite/installation.ts';
import { generationKey, generationsIn } from './chain.ts';
import { type BackupTarget, TargetProblem } from './target.ts';

/**
 * Whether the target is that of this database. A database notes its generation there before it
 * ships anything. A newer one that is noted was restored from this target since, and serves
 * instead. One that was never restored and finds only other generations was given the target of
 * somebody else, whose service would take it for its successor and stop.
 */
export type Standing = 'current' | 'superseded';

export async function standingOf(
  target: BackupTarget,
  { path, generation, now }: { readonly path: string; readonly generation: bigint; readonly now: number },
): Promise<Standing> {
  const noted = await generationsIn(target);
  const isNoted = noted.includes(generation);
  if (!isNoted && noted.length > 0 && !wasRestored(path)) {
    throw new TargetProblem(
      `The backup in ${target.name} is of another database. Name an empty place for this one with COLUMBA_BACKUP.`,
    );
  }
  if (noted.some((each) => each > generation)) return 'superseded';
  if (!isNoted) await target.put(generationKey(generation), Buffer.from(String(now)));
  return 'current';
}
