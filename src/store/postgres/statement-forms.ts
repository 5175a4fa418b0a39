import { parametersOf, render, type Statement } from '../statement.ts';
import { auditedOf } from './audited-statement.ts';
import { type CallerStatement, withCaller } from './caller-statement.ts';
import { distributedDialect, postgresDialect } from './dialect.ts';
import { hasIdsOnly, type ManyStatement, manyOf } from './many-statement.ts';
import type { Write } from './write-batches.ts';

/** The forms in which a statement is sent, each rendered once. */
interface Rendered {
  readonly text: string;
  readonly parameters: readonly string[];
}
const renderedTexts = { plain: new WeakMap<object, Rendered>(), distributed: new WeakMap<object, Rendered>() };
const dialects = { plain: postgresDialect, distributed: distributedDialect };

export function renderedOf(statement: Statement<never>, mode: keyof typeof renderedTexts): Rendered {
  let known = renderedTexts[mode].get(statement);
  if (!known) {
    const text = (mode === 'distributed' ? statement.distributed?.text : undefined) ?? statement.text;
    const parameters = text === statement.text ? statement.parameters : parametersOf(text);
    known = { text: render(text, parameters, dialects[mode]), parameters };
    renderedTexts[mode].set(statement, known);
  }
  return known;
}

const callerStatements = new WeakMap<object, { found: CallerStatement | undefined }>();

export function callerStatementOf(statement: Statement<never>): CallerStatement | undefined {
  let known = callerStatements.get(statement);
  if (!known) {
    known = { found: withCaller(statement, postgresDialect) };
    callerStatements.set(statement, known);
  }
  return known.found;
}

const manyStatements = new WeakMap<object, { found: ManyStatement | undefined }>();

export function manyStatementOf(statement: Statement<never>): ManyStatement | undefined {
  let known = manyStatements.get(statement);
  if (!known) {
    known = { found: manyOf(statement, postgresDialect) };
    manyStatements.set(statement, known);
  }
  return known.found;
}

/** Whether writes like this one, for several accounts, are one statement. */
export const isForMany = (write: Write): boolean =>
  !write.statement.deletes && hasIdsOnly(write) && manyStatementOf(write.statement) !== undefined;

const auditedStatements = {
  known: new WeakMap<object, CallerStatement>(),
  caller: new WeakMap<object, CallerStatement>(),
};

export function auditedStatementOf(statement: Statement<never>, of: 'known' | 'caller'): CallerStatement {
  let known = auditedStatements[of].get(statement);
  if (!known) {
    known = auditedOf(statement, postgresDialect, of === 'caller');
    auditedStatements[of].set(statement, known);
  }
  return known;
}
