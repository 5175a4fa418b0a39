import { addDeletion } from '../callers.sql.ts';
import { render, type SqlDialect, type Statement } from '../statement.ts';
import { ACCOUNT, CALLER_FOUND, type CallerStatement, caller, HASH, UNRESTRICTED } from './caller-statement.ts';

/**
 * A delete and its audit entry in one statement, and so in one round trip and one transaction. As a
 * transaction of two statements they took four round trips and could not share a transaction with
 * other writes: a delete of 32 clients took 2.7 to 3 times the CPU. It writes no entry where it
 * deletes nothing. `withCaller`: it identifies the caller as well.
 */
export function auditedOf(statement: Statement<never>, dialect: SqlDialect, withCaller: boolean): CallerStatement {
  const own = (text: string) => (withCaller ? text.replace(ACCOUNT, UNRESTRICTED) : text);
  const returnsRows = /\breturning\b/.test(statement.text);
  const done = `done as (${own(statement.text)}${returnsRows ? '' : ' returning 1'})`;
  const noted = `noted as (${own(addDeletion.text)} and exists (select 1 from done))`;
  const combined = withCaller
    ? `${caller}, ${done}, ${noted} ${CALLER_FOUND}`
    : `with ${done}, ${noted} select ${returnsRows ? '*' : 'count(*) as changes'} from done`;
  const names = new Set<string>([...statement.parameters, ...addDeletion.parameters]);
  if (withCaller) {
    names.delete('account');
    names.add(HASH);
  }
  const parameters = [...names];
  const name = `${statement.name}.${withCaller ? 'callerAudited' : 'audited'}`;
  return { name, text: render(combined, parameters, dialect), parameters };
}
