import type { Random } from '../../test/support/random.ts';
import {
  anyId,
  change,
  IDS,
  idsWhere,
  indexes,
  isThere,
  listed,
  planned,
  reading,
  someIds,
  type Thing,
} from './model.ts';

/** Contacts, each with its group or 0 for none; and templates, as the JSON of their list. */
const GROUPS = ['1', '2', '3'];
const UNKNOWN_GROUP = '9';
const anyGroup = (random: Random): string => (random.chance(0.1) ? UNKNOWN_GROUP : random.pick(GROUPS));

const groupsById = (state: string): string =>
  indexes(state, isThere)
    .map((index) => `${IDS[index]}:${state[index]}`)
    .join();
const totals = (state: string): string =>
  GROUPS.map((group) => `${group}:${indexes(state, (each) => each === group).length}`).join();
const membersOf = (groupid: string) =>
  planned('account.FetchContactsByGroupId', { groupid }, reading(idsWhere((each) => each === groupid)), listed('id'));

export const contacts: Thing = {
  initial: '112230',
  reads: [
    planned('account.FetchContacts', {}, reading(groupsById), listed('id', 'groupid')),
    planned('account.FetchGroups', {}, reading(totals), listed('id', 'total')),
    membersOf('1'),
    membersOf('2'),
  ],
  writes: [
    [
      6,
      (random) => {
        const [contact_id, group_id] = [someIds(random), anyGroup(random)];
        const move = change(contact_id, group_id, () => GROUPS.includes(group_id));
        return planned('account.MoveContactToNewGroup', { contact_id, group_id }, move);
      },
    ],
    [
      4,
      (random) => {
        const [contact_id, group_id] = [someIds(random).slice(-2), anyGroup(random)];
        const remove = change(contact_id, '0', (group) => group === group_id);
        return planned('account.RemoveContactFromGroup', { contact_id, group_id }, remove);
      },
    ],
    [
      1,
      (random) => {
        const contact_id = someIds(random).slice(-2);
        return planned('account.DeleteContact', { contact_id }, change(contact_id, 'x'));
      },
    ],
    [
      1,
      (random) => {
        const id = anyId(random);
        return planned('account.DeleteContactsById', { id }, change([id], 'x'));
      },
    ],
  ],
};

const TEXTS = ['a', 'b & b', 'c 😀', 'd'];

const onTexts = (next: (texts: string[]) => { texts: string[]; result: boolean }) => (state: string) => {
  const { texts, result } = next(JSON.parse(state));
  return { state: JSON.stringify(texts), result: String(result) };
};

export const templates: Thing = {
  initial: '[]',
  reads: [
    planned(
      'account.FetchSavedMessages',
      {},
      reading((state) => state),
      JSON.stringify,
    ),
  ],
  writes: [
    [
      5,
      (random) => {
        const message = random.pick(TEXTS);
        const save = onTexts((texts) => ({
          texts: texts.includes(message) ? texts : [...texts, message],
          result: true,
        }));
        return planned('account.SaveMessageTemplate', { message }, save);
      },
    ],
    [
      5,
      (random) => {
        const message = random.pick(TEXTS);
        const drop = onTexts((texts) => ({
          texts: texts.filter((text) => text !== message),
          result: texts.includes(message),
        }));
        return planned('account.DeleteMessageTemplate', { message }, drop);
      },
    ],
  ],
};

/** In the import format. */
export const contactFields = {
  groups: GROUPS.map((id) => ({ id: Number(id), name: `group ${id}` })),
  contacts: IDS.map((id, at) => ({
    id,
    mobile: `+2782555030${id}`,
    ...(contacts.initial[at] !== '0' && { groupid: contacts.initial[at] }),
  })),
};
