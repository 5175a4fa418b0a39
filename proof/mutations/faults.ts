/** One line of the program, made wrong, and the tests that have to notice. */
export interface PlantedFault {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly tests: readonly string[];
}

const fault = (file: string, before: string, after: string, ...tests: string[]): PlantedFault => ({
  file: `src/${file}`,
  before,
  after,
  tests: tests.map((test) => (test.startsWith('proof/') ? `${test}.test.ts` : `test/${test}.test.ts`)),
});

const asmx: readonly PlantedFault[] = [
  fault('asmx/contract/dates.ts', 'given < 30 ? 2000 : 1900', 'given < 31 ? 2000 : 1900', 'asmx/contract/dates'),
  fault(
    'asmx/contract/dates.ts',
    'return given > 12 ? null : given % 12;',
    'return given > 12 ? null : given;',
    'asmx/contract/dates',
  ),
  fault(
    'asmx/contract/dates.ts',
    'return Math.min(...(holds.length > 0',
    'return Math.max(...(holds.length > 0',
    'asmx/contract/dates',
  ),
  fault(
    'asmx/operations/arguments.ts',
    'if (value < 0) throw',
    'if (value < -1) throw',
    'asmx/replay',
    'asmx/operations/paging',
    'asmx/limits',
    'asmx/operations/inbox',
  ),
  fault(
    'asmx/protocols/encoding.ts',
    'return nul < 0 ? text : text.slice(0, nul);',
    'return text;',
    'asmx/protocols/encoding',
    'interop/encodings',
  ),
  fault(
    'asmx/protocols/get-post.ts',
    'if (pieces.length > parametersMax) throw',
    'if (pieces.length > parametersMax + 1) throw',
    'config/limits',
    'asmx/limits',
  ),
  fault(
    'asmx/protocols/get-post.ts',
    'if (value.length > textLengthMax) throw',
    'if (value.length > textLengthMax + 1) throw',
    'config/limits',
    'asmx/limits',
  ),
  fault(
    'asmx/protocols/get-post.ts',
    'if (media.type !== FORM_TYPE)',
    'if (media.type === FORM_TYPE && false)',
    'asmx/protocols/get-post',
    'asmx/protocols/errors',
  ),
  fault(
    'asmx/protocols/percent-encoding.ts',
    '(given & 0xfffff800) === 0xd800 ? 0xfffd : given',
    'given',
    'asmx/protocols/get-post',
    'interop/encodings',
    'utf8',
  ),
  fault(
    'asmx/protocols/soap-fault.ts',
    "if (problem.kind === 'must-understand') return '';",
    '',
    'asmx/protocols/soap-fault',
    'interop/soap12',
  ),
  fault(
    'asmx/protocols/soap.ts',
    'version.ourRoles.includes(role);',
    'true;',
    'asmx/protocols/soap-fault',
    'interop/soap12',
  ),
  fault(
    'asmx/protocols/soap.ts',
    'if (version === SOAP12 && !namesAnother) return;',
    '',
    'interop/actions',
    'interop/soap12',
  ),
  fault(
    'asmx/protocols/soap.ts',
    'if (element.local !== name) continue;',
    'if (element.local.toLowerCase() !== name) continue;',
    'asmx/protocols/soap-arguments',
  ),
  fault(
    'asmx/results/elements.ts',
    "if (value === null) return '';",
    "if (!value) return '';",
    'asmx/replay',
    'asmx/operations/inbox',
  ),
  fault(
    'asmx/results/result-writer.ts',
    '{index + 1}" msdata:rowOrder',
    '{index}" msdata:rowOrder',
    'asmx/operations/datasets',
    'asmx/replay',
  ),
  fault(
    'asmx/results/columns.ts',
    'WHITE_SPACE.test(value) ? preserved(value) : plain(value)',
    'false ? preserved(value) : plain(value)',
    'asmx/operations/datasets',
    'asmx/replay',
  ),
  fault(
    'asmx/results/result-form.ts',
    "return dates.zone === 'none' ? 'Unspecified' : undefined;",
    'return undefined;',
    'asmx/dialect/dialect',
    'asmx/operations/dialect-lists',
  ),
  fault(
    'asmx/routes.ts',
    "if (method === 'POST') return namesOperation ? group.post : group.soap;",
    "if (method === 'POST') return group.soap;",
    'asmx/protocols/get-post',
  ),
];

const operator: readonly PlantedFault[] = [
  fault(
    'operator/perform.ts',
    'if (action.scope !== null && !actor.scopes.includes(action.scope)) {',
    'if (false) {',
    'operator/rights',
    'operator/api',
  ),
  fault(
    'operator/perform.ts',
    'if (actor.account && actor.account.username !== username) throw',
    'if (false) throw',
    'operator/rights',
  ),
  fault(
    'operator/idempotency.ts',
    "if (key === '' || key.length > KEY_LENGTH_MAX) {",
    'if (key.length > KEY_LENGTH_MAX) {',
    'operator/idempotency',
  ),
  fault(
    'operator/api.ts',
    "action.method === 'POST' ? readKey(request.header('idempotency-key')) : null;",
    'null;',
    'operator/idempotency',
  ),
  fault(
    'operator/api.ts',
    "if (bytes.length > 0 && !isJson(type, action)) throw unsupported('application/json');",
    '',
    'operator/api',
  ),
  fault(
    'operator/input.ts',
    'if (errors.length > 0) throw refused(errors);',
    'if (errors.length > 1) throw refused(errors);',
    'operator/api',
  ),
  fault(
    'operator/actions/messages/many-messages.ts',
    'if (sendAt <= at) throw',
    'if (sendAt < at - 1e12) throw',
    'operator/sending',
  ),
  fault(
    'operator/actions/contacts/blacklist.ts',
    "if (removed === 0) throw notFound('such number on the blacklist');",
    '',
    'operator/blacklist',
  ),
  fault(
    'operator/actions/access/tokens.ts',
    'customer === undefined ? scopes : accountScopes;',
    'scopes;',
    'operator/rights',
    'operator/api',
  ),
  fault(
    'operator/actions/messages/sending.ts',
    'return mayRead(actor) ? shown(result) : withoutContent(shown(result));',
    'return shown(result);',
    'operator/rights',
    'operator/sending',
  ),
  fault(
    'operator/path-router.ts',
    "method === 'HEAD' ? 'GET' : method;",
    'method;',
    'operator/path-router',
    'operator/api',
    'web/server',
  ),
  fault('operator/json-body.ts', 'const LEVELS_MAX = 32;', 'const LEVELS_MAX = 33;', 'operator/json-body', 'docs'),
];

const console_: readonly PlantedFault[] = [
  fault(
    'console/bulk.ts',
    "if (ids.length === 0) return noticed(bulk.back, 'nothing');",
    '',
    'console/acts',
    'console/operator',
  ),
  fault('console/bulk.ts', 'total > confirmedTotal(request)', 'confirmedTotal(request) === 0', 'console/filters'),
  fault(
    'console/accounts/account.ts',
    "const isTyped = form.text('typed') === params.username;",
    'const isTyped = true;',
    'console/operator',
    'console/acts',
  ),
  fault(
    'console/scan.ts',
    '/^(-?\\d{1,16})\\.(-?\\d{1,19})$/',
    '/^(\\d{1,16})\\.(-?\\d{1,19})$/',
    'console/scan',
    'console/filters',
  ),
  fault('console/words.ts', 'if (year < 1000 || year > 9999) return date.toISOString();', '', 'console/session'),
  fault('console/page-semaphore.ts', "if (contractLoad() === 'overloaded') throw busy();", '', 'console/cost'),
  fault(
    'console/access/sign-in.ts',
    'if (path === CODE && session?.awaitsCode)',
    'if (path === CODE && session)',
    'console/sign-in',
  ),
  fault(
    'console/session.ts',
    'if (at > 0 && pair.slice(0, at).trim() === name) return',
    'if (at > 0 && pair.slice(0, at).trim().startsWith(name)) return',
    'console/session',
    'console/sign-in',
  ),
  fault('console/wrong-fields.ts', 'each: [...new Set(each)] };', 'each };', 'console/wrong-fields'),
  fault(
    'console/carriers/connectors.ts',
    "form.text('act') === 'resume';",
    "form.text('act') !== 'resume';",
    'console/operator',
    'console/acts',
  ),
];

const transfer: readonly PlantedFault[] = [
  fault(
    'transfer/csv.ts',
    'if (row > CSV_ROWS_MAX + 1) throw',
    'if (row > CSV_ROWS_MAX + 2) throw',
    'transfer/csv',
    'operator/contact-files',
  ),
  fault(
    'transfer/account-json.ts',
    "if (typeof hash === 'string' && !isPasswordHash(hash))",
    'if (false)',
    'transfer/refusals',
    'transfer/mistakes',
    'transfer/import',
  ),
  fault(
    'transfer/account-json.ts',
    "if (typeof hash === 'string' && !isUserIdHash(hash)) each",
    'if (false) each',
    'transfer/refusals',
    'transfer/mistakes',
    'transfer/import',
  ),
  fault(
    'transfer/json-fields.ts',
    "typeof value === 'object' && value !== null && !Array.isArray(value);",
    "typeof value === 'object' && value !== null;",
    'transfer/refusals',
    'transfer/mistakes',
  ),
  fault(
    'transfer/json-error.ts',
    'if (code < SPACE) return',
    'if (code < SPACE - 1 && false) return',
    'transfer/mistakes',
  ),
];

const migration: readonly PlantedFault[] = [
  fault(
    'migration/compare/compare.ts',
    'return status >= 500 || status === 429;',
    'return status >= 500;',
    'migration/compare',
    'migration/verdict',
  ),
  fault(
    'migration/compare/compare.ts',
    "if (theirs.text !== own.text) findings.known('fault-text'",
    "if (theirs.text === own.text) findings.known('fault-text'",
    'migration/compare',
  ),
  fault(
    'migration/copy/message-copy.ts',
    "!deleted.has('sent', each.id) && !isSameSent",
    '!isSameSent',
    'migration/import',
    'migration/interrupted-sync',
    'migration/sent-stream',
  ),
  fault(
    'migration/copy/message-copy.ts',
    'if (id > highest || listed.has(id) || sentAt < oldest) continue;',
    'if (listed.has(id) || sentAt < oldest) continue;',
    'migration/import',
    'migration/interrupted-sync',
    'migration/sent-stream',
  ),
  fault('migration/learn/learned.ts', 'other - one);', 'one - other);', 'migration/learn'),
  fault(
    'migration/proxy/shadow.ts',
    'if (booleanResult(call, old, comparing.settings) !== true)',
    'if (false)',
    'migration/proxy-stages',
    'migration/writes',
    'migration/compared-writes',
  ),
  fault(
    'migration/actions/clients.ts',
    'if (body.address === undefined && body.username === undefined && !body.unknown) {',
    'if (false) {',
    'migration/clients',
    'migration/client-rules',
  ),
  fault(
    'migration/old-server/old-account.ts',
    'if (cap !== undefined && rows.length >= cap) return { rows, isCapped: true };',
    '',
    'migration/growing-lists',
    'migration/import',
  ),
];

export const faults: readonly PlantedFault[] = [...asmx, ...operator, ...console_, ...transfer, ...migration];
