// The four operations on gSOAP: the data in memory, a thread for each connection. A mark is on disk before it is answered, as it
// is with Columba, in the cheapest way there is: one row more in a table that has nothing but marks. `server FOLDER`: there.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bench-service.h"

namespace {

struct Account {
  size_t number;
  api__AccountDetail detail;
  std::vector<api__ReceivedMessage> messages;  // oldest first
  std::unordered_map<LONG64, size_t> byId;
  std::vector<bool> read;
  size_t unread;
  size_t firstUnread = 0;  // nothing unread before it: nothing is ever marked as unread
  std::mutex mutex;        // for the three above
};

std::unordered_map<std::string_view, std::unique_ptr<Account>> accounts;

sqlite3 *disk;
sqlite3_stmt *mark;
std::mutex marking;

void openDisk(const std::string &folder) {
  must(disk, sqlite3_open((folder + "/marks.db").c_str(), &disk));
  must(disk, sqlite3_exec(disk,
                    "pragma journal_mode = wal; pragma synchronous = full;"
                    "create table mark (account integer, message integer, primary key (account, message)) without rowid",
                    nullptr, nullptr, nullptr));
  must(disk, sqlite3_prepare_v2(disk, "insert or ignore into mark (account, message) values (?, ?)", -1, &mark, nullptr));
}

void keepMark(size_t account, size_t message) {
  const std::lock_guard lock(marking);
  must(disk, sqlite3_bind_int64(mark, 1, static_cast<sqlite3_int64>(account)));
  must(disk, sqlite3_bind_int64(mark, 2, static_cast<sqlite3_int64>(message)));
  must(disk, sqlite3_step(mark));
  must(disk, sqlite3_reset(mark));
}

/** As bench/data.ts makes it. */
std::unique_ptr<Account> makeAccount(size_t account, size_t messages) {
  auto made = std::make_unique<Account>();
  made->number = account;
  fillDetail(made->detail, account);
  for (size_t message = 0; message < messages; message++) {
    fillMessage(made->messages.emplace_back(), account, message);
    made->byId.emplace(made->messages.back().id, message);
  }
  made->read.assign(messages, false);
  made->unread = messages;
  return made;
}

/** Null, with a fault to answer, where the address or the user is not known. */
Account *find(soap *soap, const char *path, const char *user) {
  if (strcmp(soap->path, path) != 0) {
    soap->error = 404;
    return nullptr;
  }
  const auto found = user ? accounts.find(user) : accounts.end();
  if (found != accounts.end()) return found->second.get();
  unknownUser(soap);
  return nullptr;
}

}  // namespace

int api__Profile(soap *soap, char *user, api__ProfileResponse *answer) {
  Account *account = find(soap, ACCOUNT, user);
  if (!account) return soap->error;
  answer->ProfileResult = &account->detail;
  return SOAP_OK;
}

int api__Unread(soap *soap, char *user, int most, api__UnreadResponse *answer) {
  Account *account = find(soap, INBOX, user);
  if (!account) return soap->error;
  if (most < 0) return soap_sender_fault(soap, "max_count: must not be negative", nullptr);
  const std::lock_guard lock(account->mutex);
  const size_t count = std::min<size_t>(most, account->unread);
  auto *list = soap_new_api__ArrayOfReceivedMessage(soap, 1);
  soap_default_api__ArrayOfReceivedMessage(soap, list);
  list->__sizeReceivedMessage = static_cast<int>(count);
  list->ReceivedMessage = static_cast<api__ReceivedMessage *>(soap_malloc(soap, count * sizeof(api__ReceivedMessage)));
  for (size_t at = account->firstUnread, put = 0; put < count; at++)
    if (!account->read[at]) list->ReceivedMessage[put++] = account->messages[at];
  answer->UnreadResult = list;
  return SOAP_OK;
}

int api__CountUnread(soap *soap, char *user, api__CountUnreadResponse *answer) {
  Account *account = find(soap, INBOX, user);
  if (!account) return soap->error;
  const std::lock_guard lock(account->mutex);
  answer->CountUnreadResult = static_cast<LONG64>(account->unread);
  return SOAP_OK;
}

int api__MarkMessageAsRead(soap *soap, char *user, char *message, api__MarkMessageAsReadResponse *answer) {
  Account *account = find(soap, INBOX, user);
  if (!account) return soap->error;
  LONG64 id = 0;
  const bool whole = readId(message, id);
  const auto found = whole ? account->byId.find(id) : account->byId.end();
  answer->MarkMessageAsReadResult = found != account->byId.end();
  if (found == account->byId.end()) return SOAP_OK;
  keepMark(account->number, found->second);
  const std::lock_guard lock(account->mutex);
  if (!account->read[found->second]) account->unread--;
  account->read[found->second] = true;
  while (account->firstUnread < account->read.size() && account->read[account->firstUnread]) account->firstUnread++;
  return SOAP_OK;
}

int main(int, char **arguments) {
  signal(SIGPIPE, SIG_IGN);
  openDisk(arguments[1]);
  const size_t messages = number("MESSAGES", 1'000);
  for (size_t at = 0, count = number("ACCOUNTS", 1'000); at < count; at++) {
    auto account = makeAccount(at, messages);
    const std::string_view user = account->detail.userID;
    accounts.emplace(user, std::move(account));
  }
  return listenForever();
}
