// The four operations for soapcpp2, with the names, types and order of the WSDL. wsdl2h makes the same of it, with every
// operation twice, for SOAP 1.1 and 1.2, and the messages of a list one by one behind pointers.

//gsoap api service name: api
//gsoap api service namespace: http://sms.example/api
//gsoap api schema namespace: http://sms.example/api
//gsoap api schema form: qualified
//gsoap api service style: document
//gsoap api service encoding: literal

// As text: time_t has no milliseconds, and there is nothing to format.
typedef char *xsd__dateTime;

struct api__AccountDetail {
  xsd__dateTime datetimeCreated 1;
  xsd__dateTime datetimeLastLoggedIn 1;
  char *userID 0;
  char *username 0;
  char *password 0;
  char *contactName 0;
  char *contactSurname 0;
  char *company 0;
  char *email 0;
  char *tel 0;
  char *fax 0;
  char *mobile 0;
  char *address 0;
  LONG64 credits 1;
  LONG64 usedCredits 1;
  int transmissionPriority 1;
  int tag 1;
};

struct api__ReceivedMessage {
  LONG64 id 1;
  char *sender 0;
  char *message 0;
  char *short_USCOREcode 0;
  xsd__dateTime timestamp 1;
};

struct api__ArrayOfReceivedMessage {
  int __sizeReceivedMessage 0;
  struct api__ReceivedMessage *ReceivedMessage 0;
};

struct api__ProfileResponse {
  struct api__AccountDetail *ProfileResult 0;
};
struct api__UnreadResponse {
  struct api__ArrayOfReceivedMessage *UnreadResult 0;
};
struct api__CountUnreadResponse {
  LONG64 CountUnreadResult 1;
};
struct api__MarkMessageAsReadResponse {
  bool MarkMessageAsReadResult 1;
};

//gsoap api service method-action: Profile http://sms.example/api/Profile
int api__Profile(char *user_USCOREid, struct api__ProfileResponse *answer);

//gsoap api service method-action: Unread http://sms.example/api/Unread
int api__Unread(char *user_USCOREid, int max_USCOREcount, struct api__UnreadResponse *answer);

//gsoap api service method-action: CountUnread http://sms.example/api/CountUnread
int api__CountUnread(char *user_USCOREid, struct api__CountUnreadResponse *answer);

//gsoap api service method-action: MarkMessageAsRead http://sms.example/api/MarkMessageAsRead
int api__MarkMessageAsRead(char *user_USCOREid, char *message_USCOREid, struct api__MarkMessageAsReadResponse *answer);
