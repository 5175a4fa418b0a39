import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { certificate } from '../pem.ts';

/** The configurations of the two connectors to Kannel, and the dependencies of both. */

export interface KannelDependencies extends Clock {
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

const port = z.int().min(1).max(65_535);
const host = z.string().min(1).max(253);
// These texts are sent in header fields and queries, which take no control characters.
const printable = z.string().regex(/^[\x20-\x7e]+$/, 'printable ASCII characters only');
const password = printable.max(255);

/** TLS, if Kannel is configured for it: admin-port-ssl, sendsms-port-ssl, smsbox-port-ssl. */
const tls = {
  tls: z.boolean().default(false),
  /** The PEM certificate that signed Kannel's. Without it, the system's authorities count. */
  tlsCertificate: certificate.optional(),
};

const shared = {
  host,
  ...tls,
  /** The smsc-id of the carrier. Without it, Kannel chooses a carrier. */
  smscId: printable.max(64).optional(),
  /** The sender of messages that have none. */
  defaultSender: printable
    .max(20)
    .regex(/[A-Za-z0-9]/, 'expected a number or a name')
    .optional(),
  /** How long Kannel and the carrier may try a message that has no validity of its own. */
  validityMinutes: z.int().min(1).max(10_080).default(2_880),
  /** How long an answer may take before the submission has an unknown outcome. */
  answerTimeoutMs: z.int().min(100).max(600_000).default(30_000),
  /** bearerbox's admin port, which tells a missing route from a stopped carrier. */
  adminPort: port.optional(),
  adminHost: host.optional(),
  /** Kannel's status-password. */
  adminPassword: password.optional(),
  adminTls: z.boolean().default(false),
};

export const kannelSendsmsConfig = z.strictObject({
  ...shared,
  port: port.default(13_013),
  path: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/)
    .max(255)
    .default('/cgi-bin/sendsms'),
  username: printable.max(255),
  password,
  /** Where Kannel reaches this connector: http://HOST:PORT/carriers/NAME. */
  callbackUrl: z
    .url({ protocol: /^https?$/ })
    .max(500)
    // Kannel would replace each percent sign together with the letter after it.
    .regex(/^[^%?#]+$/, 'without %, ? and #'),
  /** Part of the path of callbacks. Kannel has no other way to prove that it is Kannel. */
  callbackSecret: z.string().regex(/^[A-Za-z0-9_-]{16,128}$/, '16 to 128 of A-Z a-z 0-9 _ -'),
  /** The most unanswered requests at a time. */
  window: z.int().min(1).max(500).default(16),
});

export const kannelBoxConfig = z.strictObject({
  ...shared,
  port: port.default(13_001),
  /** The name of our box. Incoming messages need a `smsbox-route` group with it. */
  boxId: printable.max(64).default('columba'),
  /** The most unacknowledged messages at a time. */
  window: z.int().min(1).max(5_000).default(100),
  heartbeatSeconds: z.int().min(1).max(3_600).default(30),
});

export type KannelSendsmsConfig = z.output<typeof kannelSendsmsConfig>;
export type KannelBoxConfig = z.output<typeof kannelBoxConfig>;

export interface KannelAdmin {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly tlsCertificate?: string | undefined;
  readonly password?: string | undefined;
}

/** The admin port; null if none is configured. */
export function adminOf(config: KannelSendsmsConfig | KannelBoxConfig): KannelAdmin | null {
  const { host: ownHost, adminPort, adminHost = ownHost, adminPassword, adminTls, tlsCertificate } = config;
  if (adminPort === undefined) return null;
  return { host: adminHost, port: adminPort, tls: adminTls, password: adminPassword, tlsCertificate };
}
