import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Operators: people who sign in to the console. */
const fields = {
  id: 'long',
  name: 'text',
  passwordHash: 'text?',
  createdAt: 'instant',
  lastSignInAt: 'instant?',
  disabledAt: 'instant?',
} as const;
const OPERATOR_ID = { id: 'operator_id' } as const;
export type OperatorRow = RowOf<typeof fields, typeof OPERATOR_ID>;
export const operatorColumns = defineColumns(fields, OPERATOR_ID);
const columns = operatorColumns.names;
type One = { operator: bigint };

export const addOperator = statement<One & { name: string; createdAt: number }>(
  'operators.add',
  'insert into operator (operator_id, name, created_at) values (:operator, :name, :createdAt) on conflict (name) do nothing',
  { affects: 'none' },
);
export const operatorByName = statement<{ name: string }, OperatorRow>(
  'operators.byName',
  `select ${columns} from operator where name = :name`,
);
export const operatorById = statement<One, OperatorRow>(
  'operators.byId',
  `select ${columns} from operator where operator_id = :operator`,
);
export const operatorsAfter = statement<{ after: string; limit: number }, OperatorRow>(
  'operators.after',
  `select ${columns} from operator where name > :after order by name {limit :limit}`,
);
export const setOperatorDisabled = statement<One & { disabledAt: number | null }>(
  'operators.setDisabled',
  'update operator set disabled_at = :disabledAt where operator_id = :operator',
  { affects: 'none' },
);
export const setOperatorPassword = statement<One & { passwordHash: string | null }>(
  'operators.setPassword',
  'update operator set password_hash = :passwordHash where operator_id = :operator',
  { affects: 'none' },
);
export const operatorSignedIn = statement<One & { at: number }>(
  'operators.signedIn',
  'update operator set last_sign_in_at = :at where operator_id = :operator',
  { affects: 'none' },
);
