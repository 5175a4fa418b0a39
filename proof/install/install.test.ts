import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testWith } from '../../test/support/peers.ts';
import { checkout, ROOT } from '../launcher/project.ts';
import { bootstrap, cleanRootMaker, workFolder } from './clean-root.ts';
import { go, ways } from './ways.ts';

/** One way in each run of the slice; `npm run proof install` goes all of them. */

const BEHAVIOUR =
  'ten lines lead from the download of the file to a message at a carrier, and its removal leaves only data';

testWith(cleanRootMaker(), BEHAVIOUR, async () => {
  const archive = join(workFolder(), 'root.tar');
  bootstrap(archive);
  const project = checkout();
  execFileSync(process.execPath, ['tools/executable.ts'], { cwd: project, stdio: 'ignore' });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { lines, faults } = await go(ways.file as (typeof ways)[string], archive, join(project, 'build'), version);
  assert.deepEqual(faults, []);
  assert.ok(lines.length >= 5);
});
