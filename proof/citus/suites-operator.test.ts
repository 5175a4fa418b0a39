import { passOnCluster } from './suites.ts';

passOnCluster({
  name: 'the operator on a cluster',
  paths: ['operator', 'console', 'web', 'commands', 'serve', 'monitoring'],
});
