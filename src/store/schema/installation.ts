/**
 * One row about the installation that this database belongs to.
 *
 * generation: a number that a restore raises. run: drawn at every start of the service. On SQLite,
 * a file beside the database has both, so a file that was replaced by an older copy of itself is
 * recognized: its run is not the one of the file. place: on PostgreSQL, the cluster and the
 * database, because a dump that is restored elsewhere takes this row with it. timeline: on
 * PostgreSQL, that of its log. copied_at: this database is a copy that was made at this time, and
 * nothing serves it before it is adopted.
 */
export const installationTable = `
  create table installation (
    installation_id bigint primary key,
    generation bigint not null,
    run text not null,
    place text not null,
    timeline text not null,
    copied_at bigint,
    restored_at bigint
  );
`;
