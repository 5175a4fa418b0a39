import { passOnCluster } from './suites.ts';

passOnCluster({
  name: 'a service that asks a worker',
  paths: ['asmx/operations', 'operator', 'domain', 'carriers', 'transfer'],
  asked: 'worker',
});
