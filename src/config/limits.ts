import { setting, wholeNumber } from './setting.ts';

/** The settings that bound what a client may send, hold and take: a limit on everything. */

const bytes = wholeNumber(1_024, 2 ** 30);
const milliseconds = wholeNumber(100, 3_600_000);
const count = wholeNumber(1, 10_000_000);

export const bounds = {
  bodyBytesMax: setting('COLUMBA_BODY_BYTES_MAX', '1048576', 'Largest request body, as it is sent.', bytes),
  inflatedBytesMax: setting(
    'COLUMBA_INFLATED_BYTES_MAX',
    '1048576',
    'Largest request body that was compressed, after decompression.',
    bytes,
  ),
  receivingBytesMax: setting(
    'COLUMBA_RECEIVING_BYTES_MAX',
    '268435456',
    'Request bodies of a process that are under way, all together. Beyond that, one of more than 64 KiB gets 429.',
    wholeNumber(2 ** 16, 2 ** 40),
  ),
  headerBytesMax: setting(
    'COLUMBA_HEADER_BYTES_MAX',
    '65536',
    'Largest head of a request: its address and its header fields.',
    wholeNumber(1_024, 2 ** 20),
  ),
  // A GET with a list of 1,000 ids of 20 characters is about 40 KB long.
  urlLengthMax: setting(
    'COLUMBA_URL_LENGTH_MAX',
    '61440',
    "Longest address of a request, with its query; the head's limit holds too.",
    wholeNumber(100, 2 ** 20),
  ),
  // A call is at most 7 deep and 1,010 elements long (a list of 1,000); headers of strange toolkits need some room.
  xmlDepthMax: setting('COLUMBA_XML_DEPTH_MAX', '64', 'Deepest nesting of elements.', wholeNumber(7, 1_000)),
  xmlElementsMax: setting('COLUMBA_XML_ELEMENTS_MAX', '10000', 'Most elements of a request.', count),
  xmlAttributesMax: setting('COLUMBA_XML_ATTRIBUTES_MAX', '256', 'Most attributes of an element.', count),
  nameLengthMax: setting(
    'COLUMBA_NAME_LENGTH_MAX',
    '1024',
    'Longest name of an element, an attribute or a parameter, in characters.',
    wholeNumber(64, 2 ** 30),
  ),
  textLengthMax: setting(
    'COLUMBA_TEXT_LENGTH_MAX',
    '262144',
    'Longest value of an element, an attribute or a parameter, in characters.',
    wholeNumber(128, 2 ** 30),
  ),
  // A list of 1,000 and every scalar there is, with room for what others add.
  parametersMax: setting('COLUMBA_PARAMETERS_MAX', '2000', 'Most parameters of a GET or POST call.', count),
  listItemsMax: setting('COLUMBA_LIST_ITEMS_MAX', '1000', 'Most items of a list parameter.', count),
  headersTimeoutMs: setting(
    'COLUMBA_HEADERS_TIMEOUT_MS',
    '30000',
    "Time for a request's head to arrive, before its connection is closed.",
    milliseconds,
  ),
  requestTimeoutMs: setting(
    'COLUMBA_REQUEST_TIMEOUT_MS',
    '30000',
    'Time for a request to arrive whole, before its connection is closed.',
    milliseconds,
  ),
  sendTimeoutMs: setting(
    'COLUMBA_SEND_TIMEOUT_MS',
    '120000',
    'Time for a client to take an answer, before its connection is closed.',
    milliseconds,
  ),
  // Old programs poll every minute or so on one connection. What stands before us (nginx, HAProxy, cloud balancers) gives up an
  // idle one after 60 s or less, and must do so before we do: a request that crosses our closing is lost.
  idleTimeoutMs: setting(
    'COLUMBA_IDLE_TIMEOUT_MS',
    '120000',
    'Time that a connection is kept after an answer, until its client uses it again. Keep-Alive tells it.',
    milliseconds,
  ),
  // An answer in pieces tells its length where it has no more than 1 MiB, and for that is collected first.
  unsentBytesMax: setting(
    'COLUMBA_UNSENT_BYTES_MAX',
    '67108864',
    'Long answers of a process that clients have not taken yet, all together; an account has a quarter. Beyond half, they go out in chunks and without their length; beyond all of it, more of them get 429.',
    wholeNumber(2 ** 22, 2 ** 40),
  ),
  connectionsMax: setting(
    'COLUMBA_CONNECTIONS_MAX',
    '10000',
    'Open connections of a process. For more, some that are not in use are closed; where all are, more get 503.',
    count,
  ),
  connectionsPerClientMax: setting(
    'COLUMBA_CONNECTIONS_PER_CLIENT_MAX',
    '1000',
    'Open connections of a process from one client address (IPv6: from one /64); trusted proxies may have any number.',
    count,
  ),
  requestsPerConnectionMax: setting(
    'COLUMBA_REQUESTS_PER_CONNECTION_MAX',
    '0',
    'Requests on one connection, before it is closed; 0 for any number.',
    wholeNumber(0, 2 ** 30),
  ),
};
