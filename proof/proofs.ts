/** A proof goes beyond `npm test`: it injects faults, runs for long, or needs programs of others. */
export interface Proof {
  /** What holds if it passes, in one sentence. */
  readonly proves: string;
  /** The bounded slice that `npm run proof` runs: files and folders of tests. */
  readonly slice: readonly string[];
  /** The program that goes on for long; what follows the name on the command line is for it. */
  readonly campaign?: string;
}

export const proofs: Readonly<Record<string, Proof>> = {
  chaos: {
    proves: 'Every message of processes that are killed again and again has one outcome, and the credits add up.',
    slice: ['proof/chaos'],
    campaign: 'proof/chaos/run.ts',
  },
  durability: {
    proves: 'What was acknowledged is there after kill -9, full disks, broken databases and jumps of the clock.',
    slice: ['proof/durability'],
  },
  disasters: {
    proves:
      'A service that is killed and loses its disk while it sends continues from its backup, and nothing is submitted twice.',
    slice: ['proof/disasters'],
    campaign: 'proof/disasters/run.ts',
  },
  upgrade: {
    proves:
      'A database of version 0.1.0 with rows in every table is upgraded, and the program of 0.1.0 serves it again.',
    slice: ['proof/upgrade'],
  },
  drill: {
    proves: 'A move from an old server loses nothing under load, with every process killed on the way.',
    slice: ['proof/drill'],
    campaign: 'proof/drill/main.ts',
  },
  fuzz: {
    proves: 'Thousands of damaged inputs get one right answer each, and change nothing that they should not.',
    slice: ['proof/fuzz', 'test/asmx/xml/reader.test.ts'],
    campaign: 'proof/fuzz/run.ts',
  },
  variations: {
    proves: 'What npm test tries with a part of all values, protocols and rights holds for all of them.',
    slice: [
      'test/property',
      'test/asmx/access.test.ts',
      'test/asmx/operations/numbers.test.ts',
      'test/asmx/xml/pieces.test.ts',
      'test/carriers/kannel/box-protocol.test.ts',
      'test/carriers/smpp/pdu.test.ts',
      'test/operator/rights.test.ts',
    ],
  },
  attack: {
    proves: 'A caller causes work, memory and bytes in proportion to what it sends, and no more.',
    slice: ['proof/attack'],
    campaign: 'proof/attack/run.ts',
  },
  lists: {
    proves: 'A list of any length has the same bytes, whether it is written in one go or in pages.',
    slice: ['proof/lists'],
  },
  processes: {
    proves: 'The program as a process, with workers: logs, metrics and traces are whole, and no secret is in them.',
    slice: ['proof/processes'],
  },
  scaling: {
    proves:
      'A whole installation is moved between databases and backed up while it is used; processes share limits and keys.',
    slice: ['proof/scaling'],
  },
  postgres: {
    proves:
      'The service goes on after a failover, time-outs, refused connections and conflicts of PostgreSQL, also with TLS.',
    slice: ['proof/postgres'],
  },
  citus: {
    proves:
      'An installation is distributed over a coordinator and workers of Citus with its data, every statement is taken there and asks as many nodes as it should, a call costs the same with more workers and accounts, shards move and a worker dies while clients mark, and the suites pass there.',
    slice: ['proof/citus'],
    campaign: 'proof/citus/run.ts',
  },
  commands: {
    proves: 'The commands work at a terminal and in shells, and say what is wrong with a database.',
    slice: ['proof/commands'],
  },
  launcher: {
    proves: 'Columba starts without the links of npm, as an npm package, and below an older Node.',
    slice: ['proof/launcher'],
  },
  install: {
    proves:
      'On a clean Debian, ten lines lead from the download to a message at a carrier, and a removal leaves only data.',
    slice: ['proof/install'],
    campaign: 'proof/install/run.ts',
  },
  examples: {
    proves: 'The commands and the programs of the documents and examples run as they are.',
    slice: ['proof/examples'],
  },
  clients: {
    proves: 'The SOAP toolkits of npm, PHP, Python and Mono call every operation, also through a move.',
    slice: ['proof/clients'],
  },
  api: {
    proves:
      'Clients that generators make from the OpenAPI document compile and call every route, and linters accept it.',
    slice: ['proof/api'],
  },
  kannel: {
    proves: 'Messages go through a real Kannel to a carrier and back, whoever of them is killed.',
    slice: ['proof/kannel'],
  },
  smpp: {
    proves:
      'A service with SMPP that is killed again and again loses nothing and submits nothing twice, by one way or two.',
    slice: ['proof/smpp'],
    campaign: 'proof/smpp/run.ts',
  },
  browser: {
    proves:
      'Every page of the console and of the contract works in a real browser, wide and narrow, and is accessible; people’s daily tasks are done in Firefox too.',
    slice: ['proof/browser'],
  },
  deploy: {
    proves: 'The image, the compose file, the unit, the manifests and the proxies of the examples work as they are.',
    slice: ['proof/deploy'],
  },
  mutations: {
    proves: 'Faults that are put into the program one at a time are found by the tests that cover the place.',
    slice: ['proof/mutations'],
    campaign: 'proof/mutations/run.ts',
  },
  bench: {
    proves: 'The servers that Columba is compared with give the same answers, and the benchmarks run.',
    slice: ['proof/bench'],
  },
  simulator: {
    proves:
      'Simulated days with deaths at any statement, wrong clocks and a failing disk break no promise, nor do broken connections and a failover of PostgreSQL.',
    slice: ['proof/simulator'],
    campaign: 'proof/simulator/run.ts',
  },
};
