import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { numberFrom } from './settings.ts';

/** Accounts with messages, the same for every server that is measured. */
export const ACCOUNTS = numberFrom('ACCOUNTS', 1_000);
export const MESSAGES = numberFrom('MESSAGES', 1_000);

export const userIdOf = (account: number): string => `bench-user-${String(account).padStart(6, '0')}`;
export const messageIdOf = (message: number): bigint => 1_000_000n + BigInt(message);

export const messageOf = (account: number, message: number) => ({
  id: String(messageIdOf(message)),
  sender: `+2782555${String(message % 10_000).padStart(4, '0')}`,
  message: `Message ${message} of account ${account}: is the market open today & tomorrow? 😀`,
  short_code: '31000',
  timestamp: new Date(Date.UTC(2026, 0, 1) + message * 60_000).toISOString(),
  read: false,
});

export const accountOf = (account: number) => ({
  userID: userIdOf(account),
  username: `account${String(account).padStart(6, '0')}`,
  ...{
    contactName: 'Thandi',
    contactSurname: 'Nkosi & Söhne',
    company: 'Acme "Fresh" Produce',
    email: 'thandi@acme.example',
  },
  tel: '+27115550100',
  mobile: '+27825550100',
  address: '1 Long Street\nCape Town\n8001',
  credits: '9007199254740993',
  usedCredits: '4294967296',
  transmissionPriority: 1,
  tag: 7,
  datetimeCreated: '2019-02-28T23:59:59.123Z',
  datetimeLastLoggedIn: '2026-10-31T08:15:00Z',
});

export async function writeData(file: string): Promise<void> {
  const output = createWriteStream(file);
  for (let account = 0; account < ACCOUNTS; account++) {
    const inbox = Array.from({ length: MESSAGES }, (_, message) => messageOf(account, message));
    if (!output.write(`${JSON.stringify({ ...accountOf(account), inbox })}\n`)) await once(output, 'drain');
  }
  await once(output.end(), 'close');
}
