import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { FIELD_NAME_FORM } from '../../sms/carrier-fields.ts';
import type { Noticed } from '../dependencies.ts';
import { certificate, isKeyOf, privateKey } from '../pem.ts';
import { STATUS_MEANINGS } from './status.ts';

/** The configuration of a connector to an SMSC, and what it needs from outside. */

export interface SmppDependencies {
  readonly clock: Clock;
  readonly noticed?: Noticed;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

const port = z.int().min(1).max(65_535);
const host = z.string().min(1).max(253);
/** The text of a C-octet string: printable ASCII, without its NUL. */
const printable = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .regex(/^[\x20-\x7e]*$/, 'printable ASCII characters only');
const seconds = (min: number, max: number) => z.int().min(min).max(max);
const ton = z.int().min(0).max(7);
const npi = z.int().min(0).max(18);
const STATUS_CODE = /^0x[0-9a-f]{1,8}$/i;
const TAG = /^0x[0-9a-f]{4}$/i;

const tlv = z
  .strictObject({
    tag: z.string().regex(TAG, 'expected a tag such as 0x1400').describe('The tag, such as 0x1400.'),
    text: printable(200).optional().describe('The value as text.'),
    field: z
      .string()
      .regex(FIELD_NAME_FORM, 'expected a name such as templateId')
      .optional()
      .describe('The field of `carrierFields`, of the message or its account, that has the value; else `text` counts.'),
    hex: z
      .string()
      .regex(/^(?:[0-9a-f]{2}){1,200}$/i, 'expected hexadecimal digits')
      .optional()
      .describe('The value as octets.'),
    nul: z.boolean().default(true).describe('Whether a NUL ends the text.'),
  })
  .refine(
    ({ text, hex, field }) => (field === undefined ? (text === undefined) !== (hex === undefined) : hex === undefined),
    'expected text, hex, or field with or without text',
  );
export type ConfiguredTlv = z.output<typeof tlv>;

const zone = z.string().max(64).refine(isZone, 'expected a time zone such as Africa/Johannesburg');
const flag = (says: string) => z.boolean().default(false).describe(says);

const quirks = z
  .strictObject({
    receiptsWithoutEsmClass: flag(
      'Receipts have the esm_class of a message: a text in the whole form of a receipt is one.',
    ),
    packedSevenBit: flag('Texts of GSM 7-bit come in packed into septets.'),
    ucs2LittleEndian: flag('UCS-2 has its low octet first, in both directions.'),
    noReceiptForParts: flag('One receipt stands for all parts of a long text.'),
    enquireLinkUnanswered: flag('The SMSC never answers enquire_link, so only TCP tells that it is gone.'),
    idInHexUpper: flag('Ids of hexadecimal digits are stored in upper case, as the carrier writes them.'),
    doneDateLocal: zone.optional().describe('The time zone of the dates in receipts.'),
    throttleIsFinal: flag('0x58 refuses a message for good.'),
    unbindOnIdle: flag('The SMSC ends idle connections. They are opened again at once, and nobody is told.'),
  })
  .describe('What this SMSC does otherwise than the specification.');

export const smppConfig = z
  .strictObject({
    host: host.describe('Where the SMSC is.'),
    port: port.optional().describe('2775, or 3550 with TLS, where it is absent.'),
    tls: z.boolean().default(false).describe('TLS around SMPP. Certificates are checked.'),
    tlsCertificate: certificate.optional().describe('The certificate, in PEM, that signed that of the SMSC.'),
    tlsServerName: host.optional().describe('The name in the certificate of the SMSC, where it is not the host.'),
    tlsClientCertificate: certificate.optional().describe('Our own certificate, in PEM, where the SMSC asks for one.'),
    tlsClientKey: privateKey.optional().describe('The key of our certificate.'),
    systemId: printable(64).min(1).describe('The name of the account at the SMSC.'),
    password: printable(64).describe('Its password. The specification allows 8 characters.'),
    systemType: printable(12).default('').describe('As the carrier gives it, mostly empty.'),
    bind: z
      .enum(['transceiver', 'transmitter+receiver'])
      .default('transceiver')
      .describe('One connection for both directions, or one for each.'),
    receiverHost: host.optional().describe('Where the receiver binds, if elsewhere.'),
    receiverPort: port.optional().describe('Its port.'),
    binds: z.int().min(1).max(16).default(1).describe('Connections of each process, of each direction.'),
    window: z.int().min(1).max(1_000).default(100).describe('Submissions without an answer, on each connection.'),
    enquireLinkSeconds: seconds(1, 3_600)
      .default(30)
      .describe('After so long without a PDU we ask whether it is there.'),
    answerSeconds: seconds(1, 100).default(60).describe('After so long without an answer an outcome is unknown.'),
    bindSeconds: seconds(1, 60).default(10).describe('How long connecting and binding may each take.'),
    idleSeconds: seconds(2, 7_200).default(90).describe('After so long without any PDU the connection is opened anew.'),
    addressRange: printable(40).default('').describe('The addresses that a receiver asks for.'),
    serviceType: printable(5).default('').describe('As the carrier gives it, mostly empty.'),
    defaultSender: printable(20).min(1).optional().describe('The sender of messages that have none.'),
    sourceTon: ton.optional().describe('Fixes the type of number of every sender.'),
    sourceNpi: npi.optional().describe('Fixes the numbering plan of every sender.'),
    destinationTon: ton.optional().describe('Fixes the type of number of every recipient.'),
    destinationNpi: npi.optional().describe('Fixes the numbering plan of every recipient.'),
    alphabet: z
      .enum(['gsm7', 'latin1', 'latin1As3', 'ascii'])
      .default('gsm7')
      .describe('What data_coding 0 means to the SMSC; latin1As3 sends Latin-1 under data_coding 3.'),
    parts: z
      .enum(['udh8', 'udh16', 'sar', 'payload'])
      .default('udh8')
      .describe('How the parts of a long text are marked; payload sends it whole, and the SMSC splits it.'),
    esmMode: z.literal([0, 3]).default(0).describe('The messaging mode of esm_class: default, or store and forward.'),
    receipts: z.enum(['final', 'all', 'failures', 'none']).default('final').describe('Which receipts are asked for.'),
    validity: z
      .enum(['absolute', 'relative', 'none'])
      .default('absolute')
      .describe('How the end of a message is written, where it has one.'),
    receiptIdIs: z
      .enum(['same', 'hexToDecimal', 'decimalToHex'])
      .default('same')
      .describe('hexToDecimal: the answer has the id in hexadecimal digits, its receipt in decimal ones.'),
    userMessageReference: z.boolean().default(false).describe('Sends the TLV user_message_reference.'),
    tlvs: z.array(tlv).max(16).default([]).describe('TLVs of every submission, such as those of India.'),
    statusMeanings: z
      .record(z.string().max(10), z.enum(STATUS_MEANINGS))
      .refine((given) => Object.keys(given).every((code) => STATUS_CODE.test(code)), {
        message: 'expected each command_status as in 0x45',
      })
      .default({})
      .describe('What a command_status means here, such as {"0x45": "permanent"}.'),
    matchByAddress: z
      .boolean()
      .default(true)
      .describe('A receipt with an unknown id settles the one submission without an answer that has its addresses.'),
    quirks: quirks.prefault({}),
    tracePdus: z.boolean().default(false).describe('Logs the header of every PDU.'),
  })
  .refine(({ tlsClientCertificate: own, tlsClientKey: key }) => (own === undefined) === (key === undefined), {
    path: ['tlsClientKey'],
    message: 'expected tlsClientCertificate and tlsClientKey together',
  })
  .refine(({ tlsClientCertificate: own, tlsClientKey: key }) => !own || !key || isKeyOf(key, own), {
    path: ['tlsClientKey'],
    message: 'this is not the key of tlsClientCertificate',
  })
  .refine(({ idleSeconds, enquireLinkSeconds }) => idleSeconds > enquireLinkSeconds, {
    path: ['idleSeconds'],
    message: 'expected more than enquireLinkSeconds',
  })
  .refine(({ tlvs }) => new Set(tlvs.map(({ tag }) => tag.toLowerCase())).size === tlvs.length, {
    path: ['tlvs'],
    message: 'expected each tag once',
  });

export type SmppConfig = z.output<typeof smppConfig>;
export type BindKind = 'transceiver' | 'transmitter' | 'receiver';

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

export const portOf = ({ port: own, tls }: Pick<SmppConfig, 'port' | 'tls'>): number => own ?? (tls ? 3_550 : 2_775);

/** Where a bind of this kind goes. */
export const peerOf = (config: SmppConfig, kind: BindKind): { readonly host: string; readonly port: number } =>
  kind === 'receiver'
    ? { host: config.receiverHost ?? config.host, port: config.receiverPort ?? portOf(config) }
    : { host: config.host, port: portOf(config) };
