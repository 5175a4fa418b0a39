import { counted, grouped } from '../words.ts';

/** Texts of lists, forms and questions on all screens. */
export const texts = {
  acts: 'What you can do',
  filter: 'Show',
  clear: 'Show all',
  search: 'Search',
  next: 'Next page',
  first: 'First page',
  pages: 'Pages',
  select: (what: string) => `Select ${what}`,
  selectPage: 'Select all on this page',
  onSelected: 'the selected ones',
  onAll: (count: number | string) => `all ${typeof count === 'number' ? grouped(count) : count} that match`,
  actOn: 'Act on',
  readFar: (read: number) => `The search read the newest ${grouped(read)} entries and stopped there.`,
  readOn: 'Search further back',
  goBack: 'Go back',
  confirm: 'Please confirm',
  nothingSelected: 'Nothing was selected, so nothing was done.',
  someGone: (count: number) =>
    count === 1 ? 'One of them was gone already.' : `${grouped(count)} of them were gone already.`,
  progress: (done: number, total: number | null) =>
    total === null ? `${grouped(done)} done …` : `${grouped(done)} of ${grouped(total)} done …`,
  step: (step: 'checked' | 'written' | 'searched', done: number, total: number | null) => {
    if (step === 'searched') return `${counted(done, 'account')} searched …`;
    return `${grouped(done)} of ${counted(total ?? done, 'row')} ${step} …`;
  },
  progressStop: 'Leave this page to stop. What is done stays done.',
  progressDone: (done: number) => `Finished: ${counted(done, 'entry', 'entries')}.`,
  progressFailed: (message: string) => `It stopped: ${message}`,
  goOn: 'Go on',
  download: 'Download as CSV',
  downloadMatching: 'Download all that match as CSV',
  optional: '(optional)',
} as const;
