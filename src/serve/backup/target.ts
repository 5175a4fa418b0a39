/**
 * Where backups are kept: a folder or a bucket. Keys are paths of letters, digits, `-`, `.` and
 * `/`.
 */
export interface BackupTarget {
  /** For people, without secrets. */
  readonly name: string;
  /** False for a folder that does not exist; absent where nobody can tell. */
  readonly exists?: () => boolean;
  /** The object is complete or absent, also if the process dies meanwhile. */
  put(key: string, content: Buffer): Promise<void>;
  /** Throws TargetProblem if there is no such object. */
  get(key: string): Promise<Buffer>;
  /**
   * The keys in the folder `prefix`, which is empty or ends in a slash, in their order. With
   * `after`, only those after it.
   */
  list(prefix: string, after?: string): Promise<string[]>;
  remove(key: string): Promise<void>;
}

/** The target refused, lied or did not answer. The message is a sentence for the operator. */
export class TargetProblem extends Error {
  readonly isMissing: boolean;
  /** The target answered, but not with the object that was written. */
  readonly isDamage: boolean;

  constructor(message: string, { isMissing = false, isDamage = isMissing, cause }: TargetProblemOptions = {}) {
    super(message, { cause });
    this.name = 'TargetProblem';
    this.isMissing = isMissing;
    this.isDamage = isDamage;
  }
}

interface TargetProblemOptions {
  readonly isMissing?: boolean;
  readonly isDamage?: boolean;
  readonly cause?: unknown;
}

export const KEY = /^(?:[a-z0-9][a-z0-9.-]{0,127}\/){0,3}[a-z0-9][a-z0-9.-]{0,127}$/;
