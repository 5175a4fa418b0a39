import { passOnCluster } from './suites.ts';

passOnCluster({
  name: 'the domain and the store on a cluster',
  paths: ['domain', 'carriers', 'store', 'scaling', 'transfer', 'migration'],
});
