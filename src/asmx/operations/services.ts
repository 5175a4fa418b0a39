import type { Admission } from '../../domain/access/admission.ts';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import type { Contacts } from '../../domain/contacts/contacts.ts';
import type { OrderedLists } from '../../domain/contacts/ordered-lists.ts';
import type { Templates } from '../../domain/contacts/templates.ts';
import type { Received } from '../../domain/messages/received.ts';
import type { Scheduled } from '../../domain/messages/scheduled.ts';
import type { Sent } from '../../domain/messages/sent.ts';
import type { OptOuts } from '../../domain/sending/opt-out.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { contract } from '../contract/contract.ts';
import type { Arguments, Operation, ResultValue } from '../contract/types.ts';
import type { ListRules } from '../dialect/list-orders.ts';

/** The parts of the domain that operations use. */
export interface OperationServices {
  readonly accounts: Accounts;
  readonly contacts: Contacts;
  readonly templates: Templates;
  readonly blacklist: OptOuts;
  readonly received: Received;
  readonly sent: Sent;
  readonly scheduled: Scheduled;
  readonly orderedLists: OrderedLists;
  readonly admission: Admission;
  /** Orders and caps of lists, which a dialect may set. */
  readonly lists: ListRules;
  /** The largest effective max or max_count. */
  readonly listLimit: number;
  /** The largest number of items in a list parameter. */
  readonly listItemsMax: number;
}

type Contract = typeof contract;
type OperationHandler<O> =
  O extends Operation<infer P, infer R>
    ? (account: AccountKey, call: Arguments<P>) => ResultValue<R> | Promise<ResultValue<R>>
    : never;

/** One handler for each operation of the contract, with the types of its row. */
export type Handlers<G extends keyof Contract> = {
  readonly [O in keyof Contract[G]]: OperationHandler<Contract[G][O]>;
};
