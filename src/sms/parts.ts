import calculator from 'sms-segments-calculator';

/**
 * The number of message parts of a text, which is its price in credits. One part has 160 characters
 * of GSM 03.38 or 70 of UCS-2. Each of several parts has fewer.
 */
export function partsOf(text: string): number {
  if (text.length <= 70) return 1; // in whatever alphabet
  if (PLAIN.test(text)) return text.length <= 160 ? 1 : Math.ceil(text.length / 153);
  return Math.max(1, new calculator.SegmentedMessage(text).segmentsCount);
}

// Characters of the default alphabet, one septet each: most texts, and a thousandth of the time of
// looking at graphemes.
const PLAIN = /^[A-Za-z0-9 \n!"#%&'()*+,\-./:;<=>?@_£$¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$/;
