import assert from 'node:assert/strict';

/** The kind and the message of a SOAP fault. */
export function faultOf({ status, text }: { status: number; text: string }): { kind: string; message: string } {
  assert.equal(status, 500, text);
  const [, kind = '', message = ''] =
    /<code>([a-z-]+)<\/code><message>(.*?)<\/message>/s.exec(text) ?? assert.fail(text);
  return { kind, message };
}
