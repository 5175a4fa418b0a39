import { readXml } from '../src/asmx/xml/reader.ts';
import { exchanges } from '../test/support/cases.ts';
import { LIMITS } from '../test/support/limits.ts';
import { readWithSaxes } from '../test/support/saxes.ts';
import { heading, printTable } from './report.ts';
import { comparison, rounds } from './rounds.ts';

/** Reading the recorded SOAP requests: our reader against saxes, which makes the same tree. */
const envelopes = exchanges('ops')
  .filter(({ name }) => name.includes('.soap'))
  .map(({ request }) => request.body.toString('utf8'));

const CALLS = 20_000;

const read = (reader: (text: string) => unknown) => ({
  'µs per envelope': async () => {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) reader(envelopes[call % envelopes.length] as string);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / CALLS;
  },
});

const results = await rounds({
  saxes: read(readWithSaxes),
  'src/asmx/xml/reader.ts': read((text) => readXml(text, LIMITS)),
});
heading('Reading an envelope', `The recorded SOAP requests, read into a tree, ${CALLS} a round.`);
const { head, rows } = comparison(results, 'saxes');
printTable(head, rows);
