/**
 * Who signs in to the console: operators, and customers. `owner` names one of them:
 * `operator/ID` or `account/ID`. The other two columns are there so that rows go with their owner.
 * Secrets of links, sessions and recovery codes are kept as SHA-256. The secret of a second factor
 * is kept as it is, because a code is computed from it.
 */
const owner = `
    owner text {binary} not null,
    operator_id bigint references operator on delete cascade,
    account_id bigint references account on delete cascade,`;

/**
 * The time when a user_id was last used. It is not a column of `credential`, because a change there
 * is a change of the account and would invalidate cached answers.
 */
export const userIdUseTable = `
  create table user_id_use (
    account_id bigint not null references account on delete cascade,
    user_id_hash text {binary} not null,
    used_at bigint not null,
    primary key (account_id, user_id_hash)
  ) {clustered};
`;

export const signInTables = `
  create table operator (
    operator_id bigint primary key,
    name text {binary} not null unique,
    password_hash text,
    created_at bigint not null,
    last_sign_in_at bigint,
    disabled_at bigint
  );
  create table sign_in_link (
    link_hash text {binary} primary key,${owner}
    expires_at bigint not null
  );
  create index sign_in_link_by_owner on sign_in_link (owner);
  create index sign_in_link_by_operator on sign_in_link (operator_id);
  create index sign_in_link_by_account on sign_in_link (account_id);
  create index sign_in_link_by_time on sign_in_link (expires_at);
  create table session (
    session_hash text {binary} primary key,${owner}
    session_id bigint not null,
    awaits_code bigint not null,
    created_at bigint not null,
    seen_at bigint not null,
    expires_at bigint not null,
    address text not null,
    agent text not null
  );
  create index session_by_owner on session (owner, created_at, session_id);
  create index session_by_operator on session (operator_id);
  create index session_by_account on session (account_id);
  create index session_by_time on session (expires_at);
  create table second_factor (${owner}
    secret text not null,
    confirmed_at bigint,
    last_step bigint not null,
    primary key (owner)
  );
  create index second_factor_by_operator on second_factor (operator_id);
  create index second_factor_by_account on second_factor (account_id);
  create table recovery_code (${owner}
    code_hash text {binary} not null,
    primary key (owner, code_hash)
  );
  create index recovery_code_by_operator on recovery_code (operator_id);
  create index recovery_code_by_account on recovery_code (account_id);
  create table sign_in_failure (
    key_hash text {binary} primary key,
    failures bigint not null,
    failed_at bigint not null
  );
  create index sign_in_failure_by_time on sign_in_failure (failed_at);
`;
