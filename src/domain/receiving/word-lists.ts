/**
 * Words with which people opt out, opt in again and ask for help, by language (ISO 639-1). They are
 * in capitals, as `folded` returns them, and each is one word without punctuation.
 */
export interface WordList {
  readonly stop: readonly string[];
  readonly start: readonly string[];
  readonly help: readonly string[];
}

/** The words that count for every account that listens to words at all. */
export const COMMON_WORDS = { start: ['START', 'UNSTOP'], help: ['HELP'] } as const;

export const WORD_LISTS = {
  af: { stop: ['STOP', 'STAAK'], start: ['BEGIN'], help: ['HULP'] },
  de: { stop: ['STOP', 'STOPP', 'ABMELDEN', 'ENDE'], start: ['ANMELDEN'], help: ['HILFE'] },
  en: {
    stop: ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'OPTOUT', 'CANCEL', 'END', 'QUIT'],
    start: ['SUBSCRIBE', 'OPTIN'],
    help: ['INFO'],
  },
  es: { stop: ['STOP', 'ALTO', 'BAJA', 'PARAR', 'CANCELAR'], start: ['ALTA'], help: ['AYUDA'] },
  fr: { stop: ['STOP', 'ARRET', 'ARRÊT', 'DESABONNER', 'DÉSABONNER'], start: ['REPRENDRE'], help: ['AIDE'] },
  it: { stop: ['STOP', 'FERMA', 'CANCELLA', 'DISISCRIVI'], start: ['ISCRIVI'], help: ['AIUTO'] },
  nl: { stop: ['STOP', 'AFMELDEN', 'UITSCHRIJVEN'], start: ['AANMELDEN'], help: ['HULP'] },
  pl: { stop: ['STOP', 'WYPISZ', 'KONIEC'], start: ['ZAPISZ'], help: ['POMOC'] },
  pt: { stop: ['STOP', 'PARAR', 'SAIR', 'CANCELAR'], start: ['VOLTAR'], help: ['AJUDA'] },
  tr: { stop: ['STOP', 'DUR', 'IPTAL', 'İPTAL', 'RET'], start: ['BAŞLA', 'BASLA'], help: ['YARDIM'] },
} as const satisfies Readonly<Record<string, WordList>>;

export type WordLanguage = keyof typeof WORD_LISTS;
export const WORD_LANGUAGES = Object.keys(WORD_LISTS) as WordLanguage[];
export const isWordLanguage = (text: string): text is WordLanguage => Object.hasOwn(WORD_LISTS, text);
