import { passOnCluster } from './suites.ts';

passOnCluster({ name: 'the contract on a cluster', paths: ['asmx', 'interop', 'http'] });
