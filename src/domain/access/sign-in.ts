import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { networkList } from '../../base/networks.ts';
import { badField, conflict, Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import { joined } from '../../store/transactions.ts';
import { addAuditEntry } from '../accounts/audit.ts';
import { hashPassword, passwordMatches } from '../accounts/credentials.ts';
import * as operatorSql from './operators.sql.ts';
import { currentOwner, type FoundOwner, type Owner, ownerColumns, ownerKey, ownerNamed, ownerOf } from './owners.ts';
import {
  beginFactor,
  confirmFactor,
  factorState,
  removeFactor,
  renewRecoveryCodes,
  takeCode,
} from './second-factor.ts';
import { addSession, endSession, endSessions, type Origin, type Session, sessionOf, sessionsOf } from './sessions.ts';
import * as sql from './sign-in.sql.ts';
import {
  type Attempt,
  checkPause,
  clearAttempts,
  countAttempt,
  createHashSemaphore,
  delayOf,
  FREE_FAILURES,
} from './sign-in-limits.ts';

/**
 * Signing in to the console: by a one-time link, or by name, password and second factor. There is
 * no default password: the first sign-in is by a link.
 */
export interface IssuedLink {
  /** The secret of the link, which can be shown only now. */
  readonly token: string;
  readonly expiresAt: number;
}

export interface SignedIn {
  readonly session: Session;
  /** The secret that goes into the cookie. */
  readonly secret: string;
}

export const LINK_MS = 24 * 3_600_000;
const LINK = /^[A-Za-z0-9_-]{43}$/;
const REMOVED_AT_ONCE = 100;
const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 200;
/** A shorter name may be part of a password, because many good passwords contain it. */
const NAME_LENGTH_MIN = 4;

const wrongLink = () => new Problem('denied', 'The link is no longer valid. Ask for a new one.');
/** One text for every reason, so that it does not reveal which names exist. */
const wrongPassword = () => new Problem('denied', 'The name or the password is wrong.');
const wrongCode = () => new Problem('denied', 'The code is wrong.');

const linkHash = (token: string): string => hash('sha256', token);

/**
 * Issues a link for one sign-in within 24 hours and voids earlier links. `resetFactor` turns the
 * second factor off, for somebody who has lost it.
 */
export async function issueLink(
  database: Database,
  owner: Owner,
  now: number,
  resetFactor = false,
): Promise<IssuedLink> {
  if ((await currentOwner(database, owner)).isDisabled)
    throw conflict('A disabled account or operator cannot sign in. Enable it first.');
  const token = randomBytes(32).toString('base64url');
  const expiresAt = now + LINK_MS;
  await database.run(sql.deleteOldLinks, { before: now, limit: REMOVED_AT_ONCE });
  await database.run(sql.deleteLinksOf, { owner: ownerKey(owner) });
  await database.run(sql.addLink, { ...ownerColumns(owner), hash: linkHash(token), expiresAt });
  if (resetFactor) await removeFactor(database, owner);
  return { token, expiresAt };
}

/** Whom a link is for; null if the link is not valid. This does not use up the link. */
export async function ownerOfLink(database: Database, token: string, now: number): Promise<FoundOwner | null> {
  const row = LINK.test(token) ? await database.first(sql.linkByHash, { hash: linkHash(token) }) : undefined;
  if (!row || Number(row.expires_at) <= now) return null;
  const owner = await ownerOf(database, row);
  return owner && !owner.isDisabled ? owner : null;
}

export interface SignInDependencies extends Pick<Clock, 'now' | 'sleep'> {
  /** Called for each wrong password, code or link, with the address that it came from. */
  readonly refused?: ((address: string) => void) | undefined;
}

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(database: Database, { now, sleep, refused }: SignInDependencies) {
  const whenHashing = createHashSemaphore();

  function told(problem: Problem, address: string): Problem {
    refused?.(address);
    return problem;
  }

  const atomically = <T>(work: (inside: Database) => Promise<T>): Promise<T> =>
    database.transaction(null, (queries) => work(joined(database, queries)));

  /** Checks a password within the limits. Throws `too-many` or `denied`. */
  async function check(attempt: Attempt, owner: FoundOwner | null, password: string): Promise<void> {
    await checkPause(database, attempt, now());
    const delayMs = await delayOf(database, attempt, now());
    if (delayMs > 0) await sleep(delayMs);
    await whenHashing(attempt.address, async () => {
      await checkPause(database, attempt, now()); // others may have failed meanwhile
      const failed = await countAttempt(database, attempt, now());
      const isUsable = owner !== null && !owner.isDisabled && isAllowed(owner, attempt.address);
      const stored = (isUsable && owner.passwordHash) || (await unusedHash());
      const matches = password.length <= PASSWORD_LENGTH_MAX && (await passwordMatches(password, stored));
      if (!matches || stored === (await unusedHash())) {
        if (failed === FREE_FAILURES && owner) await noteBlocked(database, owner, attempt.address, now());
        throw told(wrongPassword(), attempt.address);
      }
      await clearAttempts(database, attempt);
    });
  }

  return {
    sessionOf: (secret: string, address: string): Promise<Session | null> =>
      sessionOf(database, secret, address, now()),
    sessionsOf: (owner: Owner): Promise<Session[]> => sessionsOf(database, owner, now()),
    endSession: (owner: Owner, id: bigint): Promise<boolean> => endSession(database, owner, id),
    endOtherSessions: (owner: Owner, keep: Session): Promise<number> => endSessions(database, owner, keep),

    signOut: (session: Session): Promise<void> =>
      atomically(async (inside) => {
        if (!(await endSession(inside, session.owner, session.id))) return;
        await note(inside, session.owner, 'sign out', session.address, now());
      }),

    factorState: (owner: Owner) => factorState(database, owner),
    ownerOfLink: (token: string) => ownerOfLink(database, token, now()),

    /** Uses up a link. If the second factor is on, its code is still needed. */
    redeemLink: (token: string, origin: Origin): Promise<SignedIn> =>
      atomically(async (inside) => {
        const owner = await ownerOfLink(inside, token, now());
        if (!owner || !isAllowed(owner, origin.address)) throw told(wrongLink(), origin.address);
        if ((await inside.run(sql.deleteLink, { hash: linkHash(token) })) === 0) throw wrongLink();
        return beginSession(inside, owner, origin, now());
      }),

    /** Signs in by name and password. A session that awaits a code is only good for `giveCode`. */
    async withPassword(kind: Owner['kind'], name: string, password: string, origin: Origin): Promise<SignedIn> {
      const owner = await ownerNamed(database, kind, name);
      await check({ subject: `password ${kind} ${name}`, address: origin.address }, owner, password);
      return atomically((inside) => beginSession(inside, owner as FoundOwner, origin, now()));
    },

    /** Returns a session with a new secret, so that the secret of the pending one is worthless. */
    async giveCode(pending: Session, code: string, origin: Origin): Promise<SignedIn> {
      const { owner } = pending;
      const attempt = { subject: `code ${ownerKey(owner)}`, address: origin.address };
      await checkPause(database, attempt, now());
      await countAttempt(database, attempt, now());
      const signedIn = await atomically(async (inside) => {
        if (!(await takeCode(inside, owner, code, now()))) return null;
        if (!(await endSession(inside, owner, pending.id))) return null;
        await noteSignIn(inside, owner, origin, now());
        return addSession(inside, owner, origin, now());
      });
      if (!signedIn) throw told(wrongCode(), origin.address);
      await clearAttempts(database, attempt);
      return signedIn;
    },

    /** Throws unless this is the password of the signed-in owner. The same limits apply. */
    async checkPassword(owner: Owner, password: string, address: string): Promise<void> {
      const found = await currentOwner(database, owner);
      await check({ subject: `password ${owner.kind} ${owner.name}`, address }, found, password);
    },

    /** Ends all other sessions and voids links. The session continues with a new secret. */
    async setPassword(session: Session, password: string, origin: Origin): Promise<SignedIn> {
      const { owner } = session;
      checkNewPassword(owner, password);
      const passwordHash = await whenHashing(origin.address, () => hashPassword(password));
      return atomically(async (inside) => {
        await storePassword(inside, owner, passwordHash);
        await endSessions(inside, owner, null);
        await inside.run(sql.deleteLinksOf, { owner: ownerKey(owner) });
        await note(inside, owner, 'password change', origin.address, now());
        return addSession(inside, owner, origin, now());
      });
    },

    /** Throws `denied` unless this is a code of the signed-in owner. The same limits apply. */
    async checkCode(owner: Owner, code: string, address: string): Promise<void> {
      const attempt = { subject: `code ${ownerKey(owner)}`, address };
      await checkPause(database, attempt, now());
      await countAttempt(database, attempt, now());
      const { isOn } = await factorState(database, owner);
      if (!isOn || !(await atomically((inside) => takeCode(inside, owner, code, now())))) throw wrongCode();
      await clearAttempts(database, attempt);
    },

    /** Makes the secret for the authenticator program. It counts once a code has confirmed it. */
    beginFactor: (owner: Owner) => beginFactor(database, owner),

    /** Returns the recovery codes, which are shown once. All other sessions end. */
    confirmFactor: (session: Session, code: string, origin: Origin): Promise<string[]> =>
      atomically(async (inside) => {
        const codes = await confirmFactor(inside, session.owner, code, now());
        if (!codes) throw wrongCode();
        await endSessions(inside, session.owner, session);
        await note(inside, session.owner, 'second factor on', origin.address, now());
        return codes;
      }),

    renewRecoveryCodes: (owner: Owner, origin: Origin): Promise<string[]> =>
      atomically(async (inside) => {
        await note(inside, owner, 'recovery codes renewed', origin.address, now());
        return renewRecoveryCodes(inside, owner);
      }),

    removeFactor: (owner: Owner, origin: Origin): Promise<void> =>
      atomically(async (inside) => {
        await removeFactor(inside, owner);
        await note(inside, owner, 'second factor off', origin.address, now());
      }),
  };
}

/** Begins a session, which still needs a code if the second factor is on. */
async function beginSession(inside: Database, owner: Owner, origin: Origin, now: number): Promise<SignedIn> {
  const { isOn } = await factorState(inside, owner);
  const signedIn = await addSession(inside, owner, origin, now, isOn);
  if (!isOn) await noteSignIn(inside, owner, origin, now);
  return signedIn;
}

const isAllowed = ({ networks }: FoundOwner, address: string): boolean =>
  networks === null || networkList(networks.split(','))(address);

let unused: Promise<string> | undefined;
/** The hash of nobody's password, so that an unknown name takes as long as a wrong password. */
const unusedHash = (): Promise<string> => {
  unused ??= hashPassword(randomBytes(16).toString('hex'));
  return unused;
};

function checkNewPassword({ name }: Owner, password: string): void {
  const { length } = password;
  if (length < PASSWORD_LENGTH_MIN) throw badField('password', `expected at least ${PASSWORD_LENGTH_MIN} characters`);
  if (length > PASSWORD_LENGTH_MAX) throw badField('password', `expected at most ${PASSWORD_LENGTH_MAX} characters`);
  const holdsName = name.length >= NAME_LENGTH_MIN && password.toLowerCase().includes(name.toLowerCase());
  if (holdsName) throw badField('password', 'the password contains the name');
  if (new Set(password).size < 5) throw badField('password', 'the password has too few different characters');
}

const storePassword = (database: Database, { kind, id }: Owner, passwordHash: string): Promise<number> =>
  kind === 'operator'
    ? database.run(operatorSql.setOperatorPassword, { operator: id, passwordHash })
    : database.run(sql.setAccountPassword, { account: id, passwordHash });

async function noteSignIn(database: Database, owner: Owner, { address }: Origin, at: number): Promise<void> {
  await (owner.kind === 'operator'
    ? database.run(operatorSql.operatorSignedIn, { operator: owner.id, at })
    : database.run(sql.accountSignedIn, { account: owner.id, at }));
  await note(database, owner, 'sign in', address, at);
}

const noteBlocked = (database: Database, owner: Owner, address: string, at: number): Promise<void> =>
  note(database, owner, 'sign in paused after wrong passwords', address, at);

const note = (database: Database, { kind, name }: Owner, action: string, address: string, at: number): Promise<void> =>
  addAuditEntry(database, {
    at,
    actorKind: kind === 'operator' ? 'console operator' : 'console account',
    actorName: name,
    tokenId: null,
    address,
    action,
    account: kind === 'account' ? name : null,
    target: name,
    fields: [],
  });
