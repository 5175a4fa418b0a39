import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { releaseFault } from '../../tools/release.ts';

describe('npm run release', () => {
  test('a version without its own section in the changelog is not released', () => {
    const changelog = '# Changelog\n\n## 0.2.0 - 2026-11-18\n\n- New: setup.\n\n## 0.1.0\n\n- First.\n';
    assert.equal(releaseFault('0.2.0', changelog), null);
    assert.equal(releaseFault('0.1.0', changelog), null);
    assert.match(releaseFault('0.3.0', changelog) ?? '', /there is no section "## 0\.3\.0"/);
    assert.match(releaseFault('0.2.0', '## 0.2.0\n\n## 0.1.0\n\n- First.\n') ?? '', /is empty/);
    assert.match(releaseFault('0.2', changelog) ?? '', /expected a version such as 0\.2\.0/);
  });
});
