import { readXml } from '../src/wire/xml.ts';
import { exchanges } from '../test/support/cases.ts';
import { readWithSaxes } from '../test/xml/reference.ts';
import { rounds, table } from './rounds.ts';

/** Reading the recorded SOAP requests: our reader against saxes, which makes the same tree. */
const envelopes = exchanges('ops')
  .filter(({ name }) => name.includes('.soap'))
  .map(({ request }) => request.body.toString('utf8'));

const CALLS = 20_000;

const read = (reader: (text: string) => unknown) => async () => {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call++) reader(envelopes[call % envelopes.length] as string);
  const { user, system } = process.cpuUsage(before);
  return { 'µs per envelope': (user + system) / CALLS };
};

const results = await rounds({ saxes: read(readWithSaxes), 'src/wire/xml.ts': read(readXml) });
process.stdout.write(table(results, 'saxes'));
