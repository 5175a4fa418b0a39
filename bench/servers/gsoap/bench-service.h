// What both servers on gSOAP share: texts as bench/data.ts makes them, and a thread for each connection.
#pragma once
#include <netinet/in.h>
#include <signal.h>
#include <sqlite3.h>

#include <charconv>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>

#include "api.nsmap"
#include "soapH.h"

constexpr const char *ACCOUNT = "/api/account.asmx";
constexpr const char *INBOX = "/api/inbox.asmx";

inline void must(sqlite3 *database, int result) {
  if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
  fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(database));
  exit(1);
}

inline size_t number(const char *name, size_t otherwise) {
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

inline char *instant(time_t seconds) {
  char made[32];
  tm parts;
  strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
  return text("%s", made);
}

constexpr time_t START = 1'767'225'600;  // 2026-01-01T00:00:00Z
constexpr LONG64 FIRST_ID = 1'000'000;

inline void fillDetail(api__AccountDetail &detail, size_t account) {
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
}

inline void fillMessage(api__ReceivedMessage &received, size_t account, size_t message) {
  received.id = FIRST_ID + message;
  received.sender = text("+2782555%04zu", message % 10'000);
  received.message = text("Message %zu of account %zu: is the market open today & tomorrow? 😀", message, account);
  received.short_USCOREcode = text("31000");
  received.timestamp = instant(START + message * 60);
}

/** Whether the text is a whole number, which is then in `id`. */
inline bool readId(const char *message, LONG64 &id) {
  const std::string_view digits(message ? message : "");
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
}

inline int unknownUser(soap *soap) { return soap_sender_fault(soap, "The user_id is not valid.", nullptr); }

inline void serve(soap *connection) {
  soap_serve(connection);
  soap_destroy(connection);
  soap_end(connection);
  soap_free(connection);
}

/** Says on which port it listens. */
inline int listenForever() {
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
