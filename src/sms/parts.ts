import calculator from 'sms-segments-calculator';

/** How many message parts a text takes, and so how many credits: 160 characters of GSM 03.38, or 70 of UCS-2, and less in several. */
export const partsOf = (text: string): number => Math.max(1, new calculator.SegmentedMessage(text).segmentsCount);
