import { setting, wholeNumber } from './setting.ts';

/** The settings that limit what a client may send, hold and receive. */

const bytes = wholeNumber(1_024, 2 ** 30);
const milliseconds = wholeNumber(100, 3_600_000);
const count = wholeNumber(1, 10_000_000);

export const limits = {
  bodyBytesMax: setting('COLUMBA_BODY_BYTES_MAX', '1048576', 'Largest request body in bytes, as sent.', bytes),
  inflatedBytesMax: setting(
    'COLUMBA_INFLATED_BYTES_MAX',
    '1048576',
    'Largest request body in bytes, after decompression.',
    bytes,
  ),
  receivingBytesMax: setting(
    'COLUMBA_RECEIVING_BYTES_MAX',
    '268435456',
    'Bytes of all request bodies that a process receives at a time. Beyond that, a body of more than 64 KiB gets 429.',
    wholeNumber(2 ** 16, 2 ** 40),
  ),
  webReceivingBytesMax: setting(
    'COLUMBA_WEB_RECEIVING_BYTES_MAX',
    '134217728',
    'Bytes of all request bodies that the web listener receives at a time. One client may use a quarter, and clients at its address without valid credentials another quarter. All clients without valid credentials together may use five eighths, and together with the callbacks of carriers three quarters. Beyond that, bodies get 429, and incomplete ones of clients without valid credentials are refused first.',
    wholeNumber(2 ** 26, 2 ** 40),
  ),
  headerBytesMax: setting(
    'COLUMBA_HEADER_BYTES_MAX',
    '65536',
    'Largest request head in bytes: request line and header fields.',
    wholeNumber(1_024, 2 ** 20),
  ),
  // A GET with a list of 1,000 ids of 20 characters has about 40 KB.
  urlLengthMax: setting(
    'COLUMBA_URL_LENGTH_MAX',
    '61440',
    'Longest request target with its query, in characters. It must also fit into COLUMBA_HEADER_BYTES_MAX.',
    wholeNumber(100, 2 ** 20),
  ),
  // A call has at most 7 levels and 1,010 elements (a list of 1,000). Header blocks need some more.
  xmlDepthMax: setting('COLUMBA_XML_DEPTH_MAX', '64', 'Most nested levels of XML elements.', wholeNumber(7, 1_000)),
  xmlElementsMax: setting('COLUMBA_XML_ELEMENTS_MAX', '10000', 'Most XML elements of a request.', count),
  xmlAttributesMax: setting('COLUMBA_XML_ATTRIBUTES_MAX', '256', 'Most attributes of an XML element.', count),
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
  // Twice the largest call: a list of 1,000 items and all scalars.
  parametersMax: setting('COLUMBA_PARAMETERS_MAX', '2000', 'Most parameters of a GET or POST call.', count),
  listItemsMax: setting('COLUMBA_LIST_ITEMS_MAX', '1000', 'Most items of a list parameter.', count),
  headersTimeoutMs: setting(
    'COLUMBA_HEADERS_TIMEOUT_MS',
    '30000',
    'Milliseconds in which a request head must arrive. Otherwise the connection gets 408 and is closed.',
    milliseconds,
  ),
  requestTimeoutMs: setting(
    'COLUMBA_REQUEST_TIMEOUT_MS',
    '30000',
    'Milliseconds in which a whole request must arrive. Otherwise the connection gets 408 and is closed.',
    milliseconds,
  ),
  sendTimeoutMs: setting(
    'COLUMBA_SEND_TIMEOUT_MS',
    '120000',
    'Milliseconds in which a client must read a response. Otherwise the connection is closed.',
    milliseconds,
  ),
  // Old programs poll about once a minute on one connection. A reverse proxy must close an idle
  // connection before we do, because a request that it sends while we close would be lost. Most
  // close it after 60 s or less.
  idleTimeoutMs: setting(
    'COLUMBA_IDLE_TIMEOUT_MS',
    '120000',
    'Keep-alive time-out: milliseconds for which an idle connection stays open. Clients learn it from the Keep-Alive header field.',
    milliseconds,
  ),
  // A streamed response of up to 1 MiB is collected first, so that it has a Content-Length.
  unsentBytesMax: setting(
    'COLUMBA_UNSENT_BYTES_MAX',
    '67108864',
    'Bytes of long responses that the clients of a listener have not read yet. An account, or a client address on the web listener, may use a quarter. When half is used, further responses are chunked, without Content-Length. When all is used, requests for long responses get 429.',
    wholeNumber(2 ** 22, 2 ** 40),
  ),
  connectionsMax: setting(
    'COLUMBA_CONNECTIONS_MAX',
    '10000',
    'Open connections of a listener in a process. Beyond that, idle connections are closed; if none is idle, new ones get 503.',
    count,
  ),
  connectionsPerClientMax: setting(
    'COLUMBA_CONNECTIONS_PER_CLIENT_MAX',
    '1000',
    'Open connections of a listener in a process from one client address (IPv6: one /64). Trusted proxies have no such limit.',
    count,
  ),
  requestsPerConnectionMax: setting(
    'COLUMBA_REQUESTS_PER_CONNECTION_MAX',
    '0',
    'Requests on one connection before it is closed; 0 for no limit.',
    wholeNumber(0, 2 ** 30),
  ),
};
