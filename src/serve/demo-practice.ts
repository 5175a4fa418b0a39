/**
 * The practice of the demo: who its patients are and what is said. demo-history.ts brings it to
 * life. All numbers are of the series 555 01xx, which nobody has.
 */

export const PRACTICE = {
  username: 'vinestreet',
  number: '+27215550100',
  details: {
    company: 'Vine Street Dental',
    contactName: 'Nomsa',
    contactSurname: 'Khumalo',
    email: 'reception@vinestreet.example',
    tel: '+27215550112',
    address: '12 Vine Street, Gardens, Cape Town, 8001',
    region: 'ZA',
    timeZone: 'Africa/Johannesburg',
    quietHours: '20:00-07:00',
    lowCredits: '200',
    wordLanguages: ['en', 'af'],
    stopAnswer: 'Vine Street Dental will not write to you any more. Write START if you change your mind.',
  },
  templates: [
    'Your appointment is booked. We are at 12 Vine Street, Gardens. Please come 10 minutes early.',
    'We are running about 20 minutes late today. Sorry for the wait, and see you soon.',
    'You can park behind the house, at 12 Vine Street. The gate opens at a quarter to eight.',
    'Your crown is back from the lab. Shall we book you in?',
  ],
} as const;

export interface Patient {
  readonly name: string;
  readonly surname: string;
  readonly mobile: string;
  readonly group: string;
}

const patient = (line: string): Patient => {
  const [name = '', surname = '', end = '', group = 'Patients'] = line.split('|');
  return { name, surname, mobile: `+27${end.slice(0, 2)}555${end.slice(2)}`, group };
};

/** First name, surname, the digits of the number around 555, and a group other than Patients. */
export const PATIENTS: readonly Patient[] = [
  'Thandi|Mokoena|820147',
  'Pieter|Louw|830192',
  'Layla|Haddad|720118',
  'Anneke|van der Merwe-Oosthuizen|820163|Crowns',
  'Sipho|Ndlovu|610109',
  'Fatima|Davids|830125',
  'Grace|Petersen|820188',
  '美玲|陳|760133',
  'Yusuf|Adams|720156',
  'Lerato|Molefe|780114',
  'Johan|Steyn|830141',
  'Aisha|Salie|840119',
  'Naledi|Jacobs|820130',
  'Bongani|Zulu|730172',
  'Chloé|Fourie|820155',
  'Priya|Pillay|790121|Crowns',
  'Tumelo|Khoza|760148',
  'Marlene|Botha|820167',
  'Zanele|Mthembu|730103',
  'David|Katz|830108',
  'Nandi|Cele|710134',
  'Riaan|du Plessis|820176',
  'Ayesha|Parker|840162',
  'Kagiso|Phiri|720137',
  'Megan|O’Brien|830159',
  'Themba|Nkosi|780126',
  'Ingrid|Müller|820104|Crowns',
  'Samuel|Okafor|610151',
  'Zola|Dube|730145',
  'Hannah|Pretorius|820183',
  'Imraan|Khan|840128',
  'Refilwe|Tau|760169',
  'Lindiwe|Radebe|720181',
  'Gerhard|Vos|830116',
  'Amahle|Sithole|710157',
  'Charmaine|Isaacs|840174',
  'Vusi|Mahlangu|780139',
  'Elmarie|Swart|820112',
  'Dineo|Mabaso|760185',
  'Rashid|Ebrahim|840106',
  'Karabo|Lekota|720164',
  'Wilma|Coetzee|830143',
  'Neo|Modise|790178',
  'Estelle|Marais|820120',
  'Mandla|Shabalala|730132',
  'Rina|Naicker|840153',
  'Tebogo|Maseko|610127',
  'Jaco|Venter|830171',
  'Palesa|Motaung|760110',
  'Shireen|Abrahams|840189',
  'Ruan|Nel|820138',
  'Ntombi|Gumede|710165',
  'Michael|Smith|830184',
  'Buhle|Ngcobo|730117',
  'Carla|Ferreira|790144|Crowns',
  'Rajesh|Naidoo|820101|Team',
  'Karin|Botha|830102|Team',
  'Nomsa|Khumalo|760100|Team',
].map(patient);

/** The number of a patient, by the first name. */
export function numberOf(name: string): string {
  const found = PATIENTS.find((each) => each.name === name);
  if (!found) throw new Error(`nobody is called ${name}`);
  return found.mobile;
}

const DENTISTS = ['Dr Naidoo', 'Dr Botha'];
const REASONS = ['check-up', 'cleaning', 'filling', 'check-up', 'crown fitting', 'check-up'];

/** The n-th appointment of a day: every 40 minutes from eight o'clock, with two dentists. */
export function appointment(index: number): { readonly time: string; readonly dentist: string; readonly what: string } {
  const minutes = 8 * 60 + Math.floor(index / 2) * 40;
  const time = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
  return { time, dentist: DENTISTS[index % 2] as string, what: REASONS[index % REASONS.length] as string };
}

export const reminder = ({ name }: Pick<Patient, 'name'>, day: string, index: number): string => {
  const { time, dentist, what } = appointment(index);
  return `Hello ${name}, a reminder of your ${what} with ${dentist} on ${day} at ${time}. Reply YES to confirm, or call 021 555 0112.`;
};

export const recall = ({ name }: Pick<Patient, 'name'>): string =>
  `Hello ${name}, it is six months since your last check-up at Vine Street Dental. Reply YES and we will find you a time.`;

/** What patients answer to a reminder. Most say nothing. */
export const ANSWERS: readonly (readonly [name: string, text: string])[] = [
  ['Lerato', 'YES'],
  ['David', 'Yes, thanks'],
  ['Anneke', 'Ja, ek sal daar wees'],
  ['Priya', 'Yes 👍'],
  ['Zanele', 'yebo, see you then'],
  ['Samuel', 'YES'],
  ['Ingrid', 'Yes please'],
  ['Fatima', 'Thank you so much 🙏'],
  ['美玲', '好的，謝謝'],
  ['Hannah', 'Yes, will be there'],
  ['Kagiso', 'YES'],
  ['Carla', 'Yes, thank you'],
];
