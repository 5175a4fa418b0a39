/**
 * Tables of the operator's side: settings of accounts, tokens, audit, answers to repeated requests.
 */
export const operatorTables = `
  alter table account add column time_zone text;
  alter table account add column quiet_hours text;
  alter table account add column unsure_policy text;
  alter table account add column connector text;
  create table operator_token (
    token_id bigint primary key,
    token_hash text {binary} not null unique,
    kind text not null,
    name text not null,
    account_id bigint references account on delete cascade,
    scopes text not null,
    created_at bigint not null,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
  );
  create index operator_token_by_time on operator_token (created_at, token_id);
  create index operator_token_by_account on operator_token (account_id);
  create table audit (
    audit_id bigint primary key,
    at bigint not null,
    actor_kind text not null,
    actor_name text not null,
    token_id bigint,
    address text,
    action text not null,
    account text {binary},
    target text not null,
    fields text not null
  );
  create index audit_by_time on audit (at, audit_id);
  create index audit_by_account on audit (account, at, audit_id);
  create table idempotency (
    key_hash text {binary} primary key,
    fingerprint text not null,
    claim text not null,
    claimed_at bigint not null,
    status bigint,
    answer text
  );
  create index idempotency_by_time on idempotency (claimed_at);
`;

/**
 * The token that an answer belongs to, and the length of the answer: if a token has too many
 * answers, its oldest ones are deleted. Both are null for the console, and for rows of a node of
 * the previous version.
 */
export const answersOfTokens = `
  alter table idempotency add column token_id bigint;
  alter table idempotency add column bytes bigint;
  create index idempotency_by_token on idempotency (token_id, claimed_at);
`;
