/**
 * Guesses which columns of a person's file are which, by their headers in English, German, French,
 * Spanish, Portuguese and Afrikaans. A person sees the guess and can change it. Commands and the
 * API guess nothing: their files come from programs.
 */

export const FILE_FIELDS = ['mobile', 'name', 'surname', 'group'] as const;
export type ContactField = (typeof FILE_FIELDS)[number];

/**
 * The surest words come first. `nom`, `name` and `naam` are the surname where another column has
 * the first name, and else the name.
 */
const WORDS: Readonly<Record<ContactField, readonly string[]>> = {
  mobile: [
    'mobile, mobile number, mobile phone, cell, cellphone, cell phone, cell number, msisdn',
    'handy, handynummer, mobil, mobilnummer, mobiltelefon, portable, telephone portable',
    'numero de portable, movil, telefono movil, celular, numero de celular, telemovel',
    'telefone celular, numero de telemovel, selfoon, selfoonnommer, selnommer, sel, whatsapp',
    'number, phone, phone number, tel, telephone, telefon, telefonnummer, rufnummer, nummer',
    'numero, numero de telephone, telefono, numero de telefono, telefone, numero de telefone',
    'telefoon, telefoonnommer, foonnommer, nommer',
  ],
  name: [
    'first name, firstname, given name, forename, vorname, prenom, nombre, nombres',
    'primeiro nome, voornaam, noemnaam, nome, name, nom, naam, full name',
  ],
  surname: [
    'surname, last name, lastname, family name, nachname, familienname, zuname',
    'nom de famille, apellido, apellidos, sobrenome, apelido, ultimo nome, van, familienaam',
    'name, nom, naam, nome',
  ],
  group: [
    'group',
    'group name',
    'gruppe',
    'groupe',
    'grupo',
    'groep',
    'category',
    'kategorie',
    'categorie',
    'categoria',
  ],
};

const folded = (header: string): string =>
  header
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** The index of the column of each field that was found. */
export function guessColumns(headers: readonly string[]): Partial<Record<ContactField, number>> {
  const names = headers.map(folded);
  const taken = new Set<number>();
  const found: Partial<Record<ContactField, number>> = {};
  for (const field of FILE_FIELDS) {
    const words = WORDS[field].flatMap((line) => line.split(', '));
    const indexes = words.map((word) => names.findIndex((name, index) => name === word && !taken.has(index)));
    const index = indexes.find((each) => each >= 0);
    if (index === undefined) continue;
    found[field] = index;
    taken.add(index);
  }
  return found;
}
