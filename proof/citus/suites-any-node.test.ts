import { passOnCluster } from './suites.ts';

passOnCluster({
  name: 'a service that asks a worker',
  paths: ['asmx/operations', 'operator', 'domain/sending', 'domain/receiving', 'domain/privacy', 'carriers'],
  asked: 'worker',
});
