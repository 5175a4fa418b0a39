import { parseArgs } from 'node:util';
import { plantedFaults } from './faults.ts';
import { installHooks } from './hooks.ts';
import { runPlanted } from './planted.ts';

/**
 * `npm run simulate`. The hooks come before everything that they change, so the rest is imported
 * after them.
 */
const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    hours: { type: 'string', default: '72' },
    nodes: { type: 'string', default: '3' },
    bursts: { type: 'string' },
    crashes: { type: 'string' },
    minutes: { type: 'string' },
    campaign: { type: 'string' },
    days: { type: 'string', default: '10000' },
    deaths: { type: 'string', default: '500000' },
    history: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    tries: { type: 'string', default: '300' },
    'until-fault': { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    failover: { type: 'boolean', default: false },
    behind: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
    mutation: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
  strict: true,
});
const HELP = `npm run simulate -- [--seed N] [--seeds COUNT] [--hours H] [--nodes N]
  --bursts B      times at which much happens at once; without it 14 a day
  --crashes C     nodes that crash 5 to 30 times in a row, for each burst
  --minutes M     goes on with further seeds for so long
  --postgres      keeps the data in a real PostgreSQL, whose connections break, and which is killed
  --failover      the same with a standby, which takes the place of the server once: one world
  --behind        the same with a standby that lacks the commits of the last seconds or minutes, and is adopted
  --kept          runs the seeds of proof/simulator/seeds.ts
  --until-fault   ends at the first seed with a fault
  --history       prints what happened
  --shrink        makes the plan of a failing seed shorter in at most --tries 300 worlds, and prints its history
  --campaign FILE goes on until --days 10000 and --deaths 500000 are simulated; the file has the sums, and
                  the same command continues after an end
  --quiet         prints the sums after every 50 seeds, and what fails
  --planted NAME  plants a fault and looks for it in up to 100 seeds; all faults without a name
  --from NUMBER   begins with this fault of the list, where --planted was interrupted
`;

if (values.help) process.stdout.write(HELP);
else if (values.planted) await runPlanted({ name: positionals[0], from: Number(values.from) });
else {
  const mutation = plantedFaults.find(({ name }) => name === values.mutation);
  if (values.mutation !== undefined && !mutation) throw new Error(`there is no planted fault ${values.mutation}`);
  installHooks(mutation);
  await (await import('./main.ts')).main(values);
}
