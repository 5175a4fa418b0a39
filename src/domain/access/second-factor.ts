import { hash } from 'node:crypto';
import { conflict } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import { type Owner, ownerColumns, ownerKey } from './owners.ts';
import * as sql from './sign-in.sql.ts';
import { newSecret, stepOfCode, toBase32 } from './totp.ts';

/** The second factor: codes of an authenticator program. Recovery codes replace a lost program. */

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

export interface FactorState {
  /** Whether a code is asked for at sign-in. */
  readonly isOn: boolean;
  readonly recoveryCodesLeft: number;
}

export async function factorState(database: Database, owner: Owner): Promise<FactorState> {
  const key = { owner: ownerKey(owner) };
  const row = await database.first(sql.factorOf, key);
  if (!row || row.confirmed_at === null) return { isOn: false, recoveryCodesLeft: 0 };
  return { isOn: true, recoveryCodesLeft: Number((await database.first(sql.countRecoveryCodes, key))?.total ?? 0n) };
}

/** Makes a new secret, which counts only once a code has confirmed it. */
export async function beginFactor(database: Database, owner: Owner): Promise<{ secret: string }> {
  const secret = newSecret();
  if ((await database.run(sql.setFactor, { ...ownerColumns(owner), secret })) === 0) {
    throw conflict('The second factor is already on. Turn it off first.');
  }
  return { secret };
}

/** Returns the recovery codes, which are shown only now; null if the code is wrong. */
export async function confirmFactor(
  database: Database,
  owner: Owner,
  code: string,
  now: number,
): Promise<string[] | null> {
  const key = { owner: ownerKey(owner) };
  const row = await database.first(sql.factorOf, key);
  if (row?.confirmed_at != null) throw conflict('The second factor is on already.');
  if (!(await isCode(database, owner, code, now))) return null;
  return renewRecoveryCodes(database, owner);
}

/** Makes ten new recovery codes and voids the earlier ones. */
export async function renewRecoveryCodes(database: Database, owner: Owner): Promise<string[]> {
  await database.run(sql.deleteRecoveryCodes, { owner: ownerKey(owner) });
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  for (const code of codes) await database.run(sql.addRecoveryCode, { ...ownerColumns(owner), hash: codeHash(code) });
  return codes;
}

export async function removeFactor(database: Database, owner: Owner): Promise<void> {
  await database.run(sql.deleteFactor, { owner: ownerKey(owner) });
  await database.run(sql.deleteRecoveryCodes, { owner: ownerKey(owner) });
}

/** Takes a code of the program or a recovery code. Each code is valid once. */
export async function takeCode(database: Database, owner: Owner, code: string, now: number): Promise<boolean> {
  if (await isCode(database, owner, code, now)) return true;
  if (!/^[A-Za-z2-7]{4}(?:[- ]?[A-Za-z2-7]{4}){3}$/.test(code.trim())) return false;
  return (await database.run(sql.useRecoveryCode, { owner: ownerKey(owner), hash: codeHash(code) })) > 0;
}

async function isCode(database: Database, owner: Owner, code: string, now: number): Promise<boolean> {
  const row = await database.first(sql.factorOf, { owner: ownerKey(owner) });
  const step = row ? stepOfCode(row.secret, code, now) : null;
  if (step === null) return false;
  return (await database.run(sql.factorUsed, { owner: ownerKey(owner), step, confirmedAt: now })) > 0;
}

/** 80 random bits: `abcd-efgh-ijkl-mnop`. */
const newRecoveryCode = (): string =>
  (toBase32(randomBytes(RECOVERY_BYTES)).toLowerCase().match(/.{4}/g) as string[]).join('-');

const codeHash = (code: string): string => hash('sha256', code.toLowerCase().replace(/[^a-z2-7]/g, ''));
