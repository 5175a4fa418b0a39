import type { SmppConfig } from './config.ts';

/**
 * Ids of messages at the SMSC. The store compares them exactly, and SMSCs write the same id in
 * several ways: so each is made canonical before it is stored or looked for.
 */

const DIGITS_MAX = 32;
const HEX = new RegExp(`^[0-9a-f]{1,${DIGITS_MAX}}$`, 'i');
const DECIMAL = new RegExp(`^\\d{1,${DIGITS_MAX}}$`);

type IdSettings = Pick<SmppConfig, 'receiptIdIs'> & { readonly quirks: Pick<SmppConfig['quirks'], 'idInHexUpper'> };

/**
 * Lower case and no zeros in front, where the id has hexadecimal digits only; any other id stays as
 * it is. Null for an empty one.
 */
export function canonicalId(id: string, { quirks }: IdSettings): string | null {
  if (id === '') return null;
  if (!HEX.test(id)) return id;
  const digits = id.replace(/^0+(?=.)/, '');
  return quirks.idInHexUpper ? digits.toUpperCase() : digits.toLowerCase();
}

/**
 * The ids to look for, best first: that of the TLV, then that of the text. Where the two sides
 * write numbers in different bases, the id of the text is converted. As it is, it may be the id of
 * another message.
 */
export function idsToMatch(ofTlv: string | null, ofText: string | null, settings: IdSettings): string[] {
  const text = ofText === null ? null : converted(ofText, settings.receiptIdIs);
  const ids = [ofTlv, text].map((id) => (id === null ? null : canonicalId(id, settings)));
  return [...new Set(ids.filter((id) => id !== null))];
}

/** From the base of receipts into that of answers. */
function converted(id: string, way: SmppConfig['receiptIdIs']): string {
  if (way === 'hexToDecimal' && DECIMAL.test(id)) return BigInt(id).toString(16);
  if (way === 'decimalToHex' && HEX.test(id)) return BigInt(`0x${id}`).toString(10);
  return id;
}
