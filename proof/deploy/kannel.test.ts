import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readKannel } from './formats.ts';

/**
 * What can be said of examples/kannel without Kannel. test/carriers/kannel starts real Kannel with these files, where only
 * ports, places and passwords are filled in.
 */

/** The groups that there must be, with what Kannel demands of each. */
const REQUIRED: Record<string, string[]> = {
  core: ['admin-port', 'admin-password', 'smsbox-port', 'store-location', 'dlr-spool'],
  smsc: ['smsc', 'smsc-id', 'host', 'port', 'smsc-username', 'smsc-password'],
  'smsbox-route': ['smsbox-id', 'smsc-id'],
  smsbox: ['bearerbox-host'],
  'sendsms-user': ['username', 'password'],
  'sms-service': ['keyword', 'post-url', 'max-messages'],
};
const GROUPS = {
  'examples/kannel/box.conf': ['core', 'smsc', 'smsbox-route', 'smsbox'],
  'examples/kannel/sendsms.conf': ['core', 'smsc', 'smsbox', 'sendsms-user', 'sms-service'],
};

for (const [file, names] of Object.entries(GROUPS)) {
  describe(file, () => {
    const groups = readKannel(file);

    test(`${file} has each group of Kannel once, with what it needs`, () => {
      assert.deepEqual(
        groups.map(({ group }) => group),
        names,
      );
      for (const { group = '', ...fields } of groups) {
        assert.deepEqual(
          REQUIRED[group]?.filter((key) => fields[key] === undefined),
          [],
          group,
        );
      }
    });

    test('only this machine reaches Kannel: each allow list has its deny list', () => {
      const fields = groups.flatMap((group) => Object.entries(group));
      const allowed = fields.filter(([key]) => key.endsWith('-allow-ip'));
      assert.ok(allowed.length > 1);
      for (const [key, value] of allowed) {
        assert.equal(value, '127.0.0.1');
        const deny = fields.find(([other]) => other === key.replace('allow', 'deny'));
        assert.equal(deny?.[1], '*.*.*.*', key);
      }
    });

    test('Kannel keeps accepted messages and awaited receipts on disk', () => {
      const [core] = groups;
      assert.deepEqual([core?.['store-type'], core?.['dlr-storage']], ['spool', 'spool']);
    });

    test(`${file} keeps passwords and texts out of the logs of Kannel`, () => {
      for (const { group, 'log-level': level } of groups.filter((each) => each['log-file'])) {
        assert.ok(Number(level) >= (group === 'smsbox' ? 2 : 1), group);
      }
    });
  });
}
