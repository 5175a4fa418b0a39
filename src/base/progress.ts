/** How far long work has come. Total is null where nobody knows it before. */
export type Progress = (step: ProgressStep, done: number, total: number | null) => void;

/** checked, written: rows of a file. searched: accounts that were looked through. */
export type ProgressStep = 'checked' | 'written' | 'searched';

export const NO_PROGRESS: Progress = () => {};
