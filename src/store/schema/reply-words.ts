/**
 * Words that opt in again and that ask for help, the languages whose lists of words count, and the
 * texts that answer STOP and HELP. shared_opt_out: 1 for a route whose STOP and START count for all
 * accounts that have a route of its destination.
 */
export const replyWordColumns = `
  alter table account add column start_words text;
  alter table account add column help_words text;
  alter table account add column word_languages text;
  alter table account add column stop_answer text;
  alter table account add column help_answer text;
  alter table route add column shared_opt_out bigint not null default 0;
`;
