// The four operations on gSOAP, with the data in SQLite: the fewest statements for each. Threads borrow connections to the file.
// `server FOLDER`: there.
#include <memory>
#include <mutex>
#include <vector>

#include "bench-service.h"

namespace {

std::string file;
std::mutex marking;

sqlite3 *opened() {
  sqlite3 *database;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int result = sqlite3_open_v2(file.c_str(), &database, flags, nullptr);
  must(database, result);
  must(database, sqlite3_exec(database, "pragma journal_mode = wal; pragma synchronous = full; pragma mmap_size = 1073741824; pragma busy_timeout = 5000; pragma wal_autocheckpoint = 64000",
                              nullptr, nullptr, nullptr));
  return database;
}

struct Connection {
  sqlite3 *database = opened();
  sqlite3_stmt *profile = prepared(
      "select account, created, last, user, username, contact, surname, company, email, tel, mobile, address, credits, used, priority, tag "
      "from account where user = ?");
  sqlite3_stmt *unread = prepared(
      "select id, sender, text, code, time from message where account = (select account from account where user = ?1) "
      "and is_read = 0 order by id limit ?2");
  sqlite3_stmt *count = prepared("select unread from account where user = ?");
  sqlite3_stmt *account = prepared("select account from account where user = ?");
  sqlite3_stmt *begin = prepared("begin immediate");
  sqlite3_stmt *mark = prepared("update message set is_read = 1 where account = ? and id = ? and is_read = 0");
  sqlite3_stmt *lower = prepared("update account set unread = unread - 1 where account = ?");
  sqlite3_stmt *exists = prepared("select 1 from message where account = ? and id = ?");
  sqlite3_stmt *commit = prepared("commit");

  sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *statement;
    must(database, sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return statement;
  }
  bool step(sqlite3_stmt *statement) {
    const int result = sqlite3_step(statement);
    must(database, result);
    return result == SQLITE_ROW;
  }
  void run(sqlite3_stmt *statement) {
    step(statement);
    must(database, sqlite3_reset(statement));
  }
};

std::mutex pooling;
std::vector<std::unique_ptr<Connection>> pool;

/** A thread is that of a client. What it borrows is open and warm, and the next client gets it. */
struct Borrowed {
  std::unique_ptr<Connection> connection;
  Borrowed() {
    const std::lock_guard lock(pooling);
    if (pool.empty()) {
      connection = std::make_unique<Connection>();
      return;
    }
    connection = std::move(pool.back());
    pool.pop_back();
  }
  ~Borrowed() {
    const std::lock_guard lock(pooling);
    pool.push_back(std::move(connection));
  }
};
Connection &own() {
  static thread_local Borrowed borrowed;
  return *borrowed.connection;
}

struct Rows {
  sqlite3_stmt *statement;
  Rows(sqlite3_stmt *given, const char *user) : statement(given) {
    sqlite3_bind_text(statement, 1, user ? user : "", -1, SQLITE_STATIC);
  }
  ~Rows() { sqlite3_reset(statement); }
  bool next() { return own().step(statement); }
  char *copy(soap *soap, int column) { return soap_strdup(soap, reinterpret_cast<const char *>(sqlite3_column_text(statement, column))); }
  LONG64 integer(int column) { return sqlite3_column_int64(statement, column); }
};

void bindText(sqlite3_stmt *statement, int at, const char *given) { sqlite3_bind_text(statement, at, given, -1, SQLITE_STATIC); }

void fill(size_t accounts, size_t messages) {
  sqlite3 *database = opened();
  must(database, sqlite3_exec(database,
                              "create table account (account integer primary key, user text unique, created text, last text, username text, "
                              "contact text, surname text, company text, email text, tel text, mobile text, address text, credits integer, "
                              "used integer, priority integer, tag integer, unread integer);"
                              "create table message (account integer, id integer, sender text, text text, code text, time text, "
                              "is_read integer, primary key (account, id)) without rowid; begin",
                              nullptr, nullptr, nullptr));
  sqlite3_stmt *addAccount, *addMessage;
  must(database, sqlite3_prepare_v2(database, "insert into account values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &addAccount, nullptr));
  must(database, sqlite3_prepare_v2(database, "insert into message values (?,?,?,?,?,?,0)", -1, &addMessage, nullptr));
  for (size_t at = 0; at < accounts; at++) {
    api__AccountDetail detail;
    fillDetail(detail, at);
    const char *texts[] = {detail.userID, detail.datetimeCreated, detail.datetimeLastLoggedIn, detail.username, detail.contactName,
                           detail.contactSurname, detail.company, detail.email, detail.tel, detail.mobile, detail.address};
    int column = 0;
    sqlite3_bind_int64(addAccount, ++column, at);
    for (const char *each : texts) bindText(addAccount, ++column, each);
    for (const LONG64 each : {static_cast<LONG64>(detail.credits), static_cast<LONG64>(detail.usedCredits),
                              static_cast<LONG64>(detail.transmissionPriority), static_cast<LONG64>(detail.tag), static_cast<LONG64>(messages)})
      sqlite3_bind_int64(addAccount, ++column, each);
    must(database, sqlite3_step(addAccount));
    sqlite3_reset(addAccount);
    for (size_t message = 0; message < messages; message++) {
      api__ReceivedMessage received;
      fillMessage(received, at, message);
      sqlite3_bind_int64(addMessage, 1, at);
      sqlite3_bind_int64(addMessage, 2, received.id);
      bindText(addMessage, 3, received.sender);
      bindText(addMessage, 4, received.message);
      bindText(addMessage, 5, received.short_USCOREcode);
      bindText(addMessage, 6, received.timestamp);
      must(database, sqlite3_step(addMessage));
      sqlite3_reset(addMessage);
      for (char *each : {received.sender, received.message, received.short_USCOREcode, received.timestamp}) free(each);
    }
  }
  must(database, sqlite3_exec(database, "commit; create index unread on message (account, id) where is_read = 0; pragma wal_checkpoint(truncate)",
                              nullptr, nullptr, nullptr));
  sqlite3_finalize(addAccount);
  sqlite3_finalize(addMessage);
  sqlite3_close(database);
}

bool isAt(soap *soap, const char *path) {
  if (strcmp(soap->path, path) == 0) return true;
  soap->error = 404;
  return false;
}

}  // namespace

int api__Profile(soap *soap, char *user, api__ProfileResponse *answer) {
  if (!isAt(soap, ACCOUNT)) return soap->error;
  Rows rows(own().profile, user);
  if (!rows.next()) return unknownUser(soap);
  auto *detail = soap_new_api__AccountDetail(soap, 1);
  soap_default_api__AccountDetail(soap, detail);
  detail->datetimeCreated = rows.copy(soap, 1);
  detail->datetimeLastLoggedIn = rows.copy(soap, 2);
  detail->userID = rows.copy(soap, 3);
  detail->username = rows.copy(soap, 4);
  detail->password = soap_strdup(soap, "");
  detail->contactName = rows.copy(soap, 5);
  detail->contactSurname = rows.copy(soap, 6);
  detail->company = rows.copy(soap, 7);
  detail->email = rows.copy(soap, 8);
  detail->tel = rows.copy(soap, 9);
  detail->mobile = rows.copy(soap, 10);
  detail->address = rows.copy(soap, 11);
  detail->credits = rows.integer(12);
  detail->usedCredits = rows.integer(13);
  detail->transmissionPriority = static_cast<int>(rows.integer(14));
  detail->tag = static_cast<int>(rows.integer(15));
  answer->ProfileResult = detail;
  return SOAP_OK;
}

int api__Unread(soap *soap, char *user, int most, api__UnreadResponse *answer) {
  if (!isAt(soap, INBOX)) return soap->error;
  if (most < 0) return soap_sender_fault(soap, "max_count: must not be negative", nullptr);
  {
    Rows known(own().account, user);
    if (!known.next()) return unknownUser(soap);
  }
  Rows rows(own().unread, user);
  sqlite3_bind_int64(rows.statement, 2, most);
  auto *list = soap_new_api__ArrayOfReceivedMessage(soap, 1);
  soap_default_api__ArrayOfReceivedMessage(soap, list);
  list->ReceivedMessage = static_cast<api__ReceivedMessage *>(soap_malloc(soap, most * sizeof(api__ReceivedMessage)));
  while (rows.next()) {
    api__ReceivedMessage &received = list->ReceivedMessage[list->__sizeReceivedMessage++];
    received.id = rows.integer(0);
    received.sender = rows.copy(soap, 1);
    received.message = rows.copy(soap, 2);
    received.short_USCOREcode = rows.copy(soap, 3);
    received.timestamp = rows.copy(soap, 4);
  }
  answer->UnreadResult = list;
  return SOAP_OK;
}

int api__CountUnread(soap *soap, char *user, api__CountUnreadResponse *answer) {
  if (!isAt(soap, INBOX)) return soap->error;
  Rows rows(own().count, user);
  if (!rows.next()) return unknownUser(soap);
  answer->CountUnreadResult = rows.integer(0);
  return SOAP_OK;
}

int api__MarkMessageAsRead(soap *soap, char *user, char *message, api__MarkMessageAsReadResponse *answer) {
  if (!isAt(soap, INBOX)) return soap->error;
  LONG64 account = 0, id = 0;
  {
    Rows rows(own().account, user);
    if (!rows.next()) return unknownUser(soap);
    account = rows.integer(0);
  }
  answer->MarkMessageAsReadResult = false;
  if (!readId(message, id)) return SOAP_OK;
  const std::lock_guard lock(marking);
  own().run(own().begin);
  for (sqlite3_stmt *each : {own().mark, own().exists}) {
    sqlite3_bind_int64(each, 1, account);
    sqlite3_bind_int64(each, 2, id);
  }
  own().run(own().mark);
  if (sqlite3_changes(own().database) == 1) {
    sqlite3_bind_int64(own().lower, 1, account);
    own().run(own().lower);
    answer->MarkMessageAsReadResult = true;
  } else {
    answer->MarkMessageAsReadResult = own().step(own().exists);
    sqlite3_reset(own().exists);
  }
  own().run(own().commit);
  return SOAP_OK;
}

int main(int, char **arguments) {
  signal(SIGPIPE, SIG_IGN);
  file = std::string(arguments[1]) + "/data.db";
  fill(number("ACCOUNTS", 1'000), number("MESSAGES", 1'000));
  return listenForever();
}
