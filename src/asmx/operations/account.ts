import type { Account } from '../../domain/accounts/accounts.ts';
import type { Contact } from '../../domain/contacts/contacts.ts';
import type { ContactGroup } from '../../domain/contacts/groups.ts';
import type { Template } from '../../domain/contacts/templates.ts';
import type { AccountKey } from '../../store/caller.ts';
import { about, idOf, idsOf } from './arguments.ts';
import { paged } from './paging.ts';
import type { Handlers, OperationServices } from './services.ts';

export function accountHandlers(services: OperationServices): Handlers<'account'> {
  const { accounts, contacts, templates, blacklist, orderedLists, listItemsMax } = services;
  const { orders, caps } = services.lists;
  const { all, ofGroup } = contactLists(services);
  const groupsById = (account: AccountKey, limit: number, after?: ContactGroup) =>
    contacts.groups(account, limit, after ? BigInt(after.id) : null);
  const groups = { id: groupsById, '-id': orderedLists.groupsDown }[orders['account.FetchGroups']];
  const saved = { saved: templates.all, '-saved': orderedLists.templatesDown }[orders['account.FetchSavedMessages']];
  return {
    async Profile(account, { user_id }) {
      return toProfile(await accounts.profile(account), user_id);
    },

    FetchContacts: all('account.FetchContacts'),
    FetchContactsDS: all('account.FetchContactsDS'),
    FetchContactsByGroupId: ofGroup('account.FetchContactsByGroupId'),
    FetchContactsByGroupIdDS: ofGroup('account.FetchContactsByGroupIdDS'),

    async FetchContact(account, { mobile }) {
      const contact = mobile === null ? null : await contacts.withExactNumber(account, mobile);
      return contact && toContact(contact);
    },
    async LookupContact(account, { mobile }) {
      const contact = mobile === null ? null : await contacts.withSameNumber(account, mobile);
      return contact && toContact(contact);
    },
    FetchGroups: (account) =>
      paged(
        caps['account.FetchGroups'] ?? Infinity,
        (limit, after?: ContactGroup) => groups(account, limit, after),
        (group) => group,
      ),

    RemoveContactFromGroup(account, { contact_id, group_id }) {
      const ids = idsOf('contact_id', contact_id, listItemsMax);
      const group = idOf(group_id);
      return ids !== null && group !== null && contacts.removeFromGroup(account, ids, group);
    },
    MoveContactToNewGroup(account, { contact_id, group_id }) {
      const ids = idsOf('contact_id', contact_id, listItemsMax);
      const group = idOf(group_id);
      return ids !== null && group !== null && contacts.moveToGroup(account, ids, group);
    },
    DeleteContact(account, { contact_id }) {
      const ids = idsOf('contact_id', contact_id, listItemsMax);
      return ids !== null && contacts.deleteAll(account, ids);
    },
    DeleteContactsById: (account, { id }) => contacts.deleteAll(account, [BigInt(id)]),

    FetchSavedMessages: (account) =>
      paged(
        caps['account.FetchSavedMessages'] ?? Infinity,
        (limit, after?: Template) => saved(account, limit, after),
        ({ text }) => text,
      ),
    async SaveMessageTemplate(account, { message }) {
      await about('message', () => templates.save(account, message ?? ''));
      return true;
    },
    DeleteMessageTemplate: (account, { message }) => message !== null && templates.delete(account, message),

    async BlackListNumber(account, { mobile, sample_message }) {
      await about('mobile', () => blacklist.add(account, mobile ?? '', sample_message));
      return true;
    },
  };
}

/** Lists of contacts, in the order and up to the length of the dialect. */
function contactLists({ contacts, orderedLists, lists: { orders, caps } }: OperationServices) {
  const allLists = { id: contacts.all, '-id': orderedLists.contactsDown };
  const groupLists = { id: contacts.ofGroup, '-id': orderedLists.contactsOfGroupDown };
  return {
    all(operation: 'account.FetchContacts' | 'account.FetchContactsDS') {
      const list = allLists[orders[operation]];
      return (account: AccountKey) =>
        paged(caps[operation] ?? Infinity, (limit, after?: Contact) => list(account, limit, after), toContact);
    },
    ofGroup(operation: 'account.FetchContactsByGroupId' | 'account.FetchContactsByGroupIdDS') {
      const list = groupLists[orders[operation]];
      return (account: AccountKey, { groupid }: { readonly groupid: number }) =>
        paged(
          caps[operation] ?? Infinity,
          (limit, after?: Contact) => list(account, BigInt(groupid), limit, after),
          toContact,
        );
    },
  };
}

const toProfile = (profile: Account, userId: string | null) => ({
  datetimeCreated: profile.createdAt,
  datetimeLastLoggedIn: profile.lastLoginAt ?? profile.createdAt,
  userID: userId,
  username: profile.username,
  password: '', // only its hash is stored
  contactName: profile.contactName,
  contactSurname: profile.contactSurname,
  company: profile.company,
  email: profile.email,
  tel: profile.tel,
  fax: profile.fax,
  mobile: profile.mobile,
  address: profile.address,
  credits: profile.credits,
  usedCredits: profile.usedCredits,
  transmissionPriority: profile.priority,
  tag: profile.tag,
});

const toContact = ({ id, name, surname, mobile, groupId }: Contact) => ({
  name,
  surname,
  id: String(id),
  mobile,
  groupid: groupId === null ? null : String(groupId),
});
