/**
 * What has to be known of an account before one knows where it is, and what lists of the
 * installation show of it. A view of `account`, which costs nothing. On a distributed database
 * (distributed.ts) it is a table of which every node has a copy: so a user_id names its account,
 * and a username is unique, without a question to the node of the account.
 */
export const accountDirectory = `
  create view account_directory as select account_id, username, disabled_at, allowed_networks from account;
`;
