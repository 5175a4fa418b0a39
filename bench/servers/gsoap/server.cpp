// The four operations on gSOAP: the data in memory, a thread for each connection. A mark is on disk before it is answered, as it
// is with Columba, in the cheapest way there is: one row more in a table that has nothing but marks. `server FOLDER`: there.
#include <netinet/in.h>
#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api.nsmap"
#include "soapH.h"

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

void must(int result) {
  if (result == SQLITE_OK || result == SQLITE_DONE) return;
  fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(disk));
  exit(1);
}

void openDisk(const std::string &folder) {
  must(sqlite3_open((folder + "/marks.db").c_str(), &disk));
  must(sqlite3_exec(disk,
                    "pragma journal_mode = wal; pragma synchronous = full;"
                    "create table mark (account integer, message integer, primary key (account, message)) without rowid",
                    nullptr, nullptr, nullptr));
  must(sqlite3_prepare_v2(disk, "insert or ignore into mark (account, message) values (?, ?)", -1, &mark, nullptr));
}

void keepMark(size_t account, size_t message) {
  const std::lock_guard lock(marking);
  must(sqlite3_bind_int64(mark, 1, static_cast<sqlite3_int64>(account)));
  must(sqlite3_bind_int64(mark, 2, static_cast<sqlite3_int64>(message)));
  must(sqlite3_step(mark));
  must(sqlite3_reset(mark));
}

size_t number(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoul(text, nullptr, 10) : otherwise;
}

/** Text that lives as long as the process. */
template <typename... Arguments>
char *text(const char *format, Arguments... arguments) {
  char *made = nullptr;
  if (asprintf(&made, format, arguments...) < 0) abort();
  return made;
}

char *instant(time_t seconds) {
  char made[32];
  tm parts;
  strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
  return text("%s", made);
}

/** As bench/data.ts makes it. */
std::unique_ptr<Account> makeAccount(size_t account, size_t messages) {
  auto made = std::make_unique<Account>();
  made->number = account;
  api__AccountDetail &detail = made->detail;
  soap_default_api__AccountDetail(nullptr, &detail);
  detail.datetimeCreated = text("2019-02-28T23:59:59.123Z");
  detail.datetimeLastLoggedIn = text("2026-10-31T08:15:00Z");
  detail.userID = text("bench-user-%06zu", account);
  detail.username = text("account%06zu", account);
  detail.password = text("");
  detail.contactName = text("Thandi");
  detail.contactSurname = text("Nkosi & Söhne");
  detail.company = text("Acme \"Fresh\" Produce");
  detail.email = text("thandi@acme.example");
  detail.tel = text("+27115550100");
  detail.mobile = text("+27825550100");
  detail.address = text("1 Long Street\nCape Town\n8001");
  detail.credits = 9007199254740993;
  detail.usedCredits = 4294967296;
  detail.transmissionPriority = 1;
  detail.tag = 7;
  constexpr time_t START = 1'767'225'600;  // 2026-01-01T00:00:00Z
  for (size_t message = 0; message < messages; message++) {
    const LONG64 id = 1'000'000 + message;
    made->byId.emplace(id, message);
    api__ReceivedMessage &received = made->messages.emplace_back();
    received.id = id;
    received.sender = text("+2782555%04zu", message % 10'000);
    received.message = text("Message %zu of account %zu: is the market open today & tomorrow? 😀", message, account);
    received.short_USCOREcode = text("31000");
    received.timestamp = instant(START + message * 60);
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
  soap_sender_fault(soap, "The user_id is not valid.", nullptr);
  return nullptr;
}

constexpr const char *ACCOUNT = "/api/account.asmx";
constexpr const char *INBOX = "/api/inbox.asmx";

void serve(soap *connection) {
  soap_serve(connection);
  soap_destroy(connection);
  soap_end(connection);
  soap_free(connection);
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
  const std::string_view digits(message ? message : "");
  LONG64 id = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
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
  // Text is UTF-8. No ids and references are looked for: document/literal has none. The answer is put together before it is
  // sent, for its Content-Length; without SOAP_IO_STORE it would be made twice, which takes Unread 1.4 times the CPU.
  soap *listener = soap_new1(SOAP_C_UTFSTRING | SOAP_XML_TREE | SOAP_IO_STORE | SOAP_IO_KEEPALIVE);
  listener->max_keep_alive = 1'000'000'000;
  listener->bind_flags = SO_REUSEADDR;
  if (!soap_valid_socket(soap_bind(listener, "127.0.0.1", 0, 128))) {
    soap_print_fault(listener, stderr);
    return 1;
  }
  sockaddr_in6 bound;
  socklen_t size = sizeof bound;
  getsockname(listener->master, reinterpret_cast<sockaddr *>(&bound), &size);
  printf("%d\n", ntohs(bound.sin6_port));  // at the same place in a sockaddr_in
  fflush(stdout);
  while (soap_valid_socket(soap_accept(listener))) std::thread(serve, soap_copy(listener)).detach();
  soap_print_fault(listener, stderr);
  return 1;
}
