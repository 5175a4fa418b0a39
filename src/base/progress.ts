/** Reports how far long work has come. The total is null if it is not known in advance. */
export type Progress = (step: ProgressStep, done: number, total: number | null) => void;

/** checked, written: rows of a file. searched: accounts that were searched. */
export type ProgressStep = 'checked' | 'written' | 'searched';

export const NO_PROGRESS: Progress = () => {};
