import { counted, grouped } from '../words.ts';

/** Texts of the operator's overview. */
export const texts = {
  title: 'Overview',
  needs: 'What needs you',
  nothing: 'Nothing needs you now.',
  down: (name: string, reason: string) =>
    `The connector ${name} does not work: ${reason}. Messages wait and go out when it works again.`,
  paused: (name: string) => `The connector ${name} is paused. Messages for it wait.`,
  undecided: (count: number, isAtLeast: boolean) =>
    count === 1 && !isAtLeast
      ? '1 message is undecided: nobody knows whether the carrier has it.'
      : `${grouped(count)}${isAtLeast ? '+' : ''} messages are undecided: nobody knows whether the carrier has them.`,
  decide: 'Decide',
  unrouted: 'Incoming messages have no route.',
  route: 'Look at them',
  noConnector: 'There is no connector, so nothing is sent.',
  unconnected: (connector: string | null, count: number) =>
    connector === null
      ? `${counted(count, 'message waits', 'messages wait')}, and no connector is the default.`
      : `${counted(count, 'message waits', 'messages wait')} for the connector ${connector}, which does not exist.`,
  late: (seconds: number) =>
    `The oldest message that is due has waited for ${counted(Math.round(seconds / 60), 'minute')}.`,
  due: 'Messages that are due',
  submitting: 'Messages on their way to a carrier',
  accounts: 'Accounts',
  database: 'Database',
  version: 'Version',
  bytes: (bytes: number) => `${grouped(Math.round(bytes / 1_048_576))} MiB`,
} as const;
