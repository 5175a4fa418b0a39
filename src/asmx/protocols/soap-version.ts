import { XML_DECLARATION } from '../results/elements.ts';
import type { ProtocolName } from './protocol.ts';

/** What differs between SOAP 1.1 and SOAP 1.2. */
export interface SoapVersion {
  readonly protocol: ProtocolName;
  readonly uri: string;
  readonly mediaType: string;
  readonly contentType: string;
  readonly sender: string;
  readonly receiver: string;
  readonly roleAttribute: string;
  /** Roles in which a header block is meant for us; '' where it names none. */
  readonly ourRoles: readonly string[];
  /** Everything before and after the content of the Body. */
  readonly open: string;
  readonly close: string;
}

const SOAP11_URI = 'http://schemas.xmlsoap.org/soap/envelope/';
const SOAP12_URI = 'http://www.w3.org/2003/05/soap-envelope';

export const envelopeTag = (uri: string) =>
  `<soap:Envelope xmlns:soap="${uri}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">`;
export const envelopeStart = (uri: string) => XML_DECLARATION + envelopeTag(uri);
const open = (uri: string) => `${envelopeStart(uri)}<soap:Body>`;
const close = '</soap:Body></soap:Envelope>';

export const SOAP11: SoapVersion = {
  protocol: 'soap11',
  uri: SOAP11_URI,
  mediaType: 'text/xml',
  contentType: 'text/xml; charset=utf-8',
  sender: 'Client',
  receiver: 'Server',
  roleAttribute: 'actor',
  ourRoles: ['', 'http://schemas.xmlsoap.org/soap/actor/next'],
  open: open(SOAP11_URI),
  close,
};

export const SOAP12: SoapVersion = {
  protocol: 'soap12',
  uri: SOAP12_URI,
  mediaType: 'application/soap+xml',
  contentType: 'application/soap+xml; charset=utf-8',
  sender: 'Sender',
  receiver: 'Receiver',
  roleAttribute: 'role',
  ourRoles: ['', `${SOAP12_URI}/role/next`, `${SOAP12_URI}/role/ultimateReceiver`],
  open: open(SOAP12_URI),
  close,
};
