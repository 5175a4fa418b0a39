/** Texts of the templates. */
export const texts = {
  title: 'Templates',
  columns: ['Text', 'Parts', ''],
  empty: 'There are no templates yet.',
  emptyHint: 'Save a text that you send often.',
  add: 'Save a template',
  text: 'Text',
  submit: 'Save',
  remove: 'Remove',
  question: 'Remove this template?',
  use: 'Use it',
  notices: {
    added: 'The template is saved.',
    there: 'This template is there already.',
    removed: 'The template is removed.',
  },
} as const;
