import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Engine, onOneEngine } from '../support/engines.ts';
import { envelope, NAMESPACE, soapRequest } from '../support/protocols.ts';
import { ACME, type Answer, type Service, startService } from '../support/service.ts';
import { faultOf } from './answers.ts';

/** A list of strings as toolkits write it: none, one, many, nil in it, its wrapper left out. All or nothing. */

interface Case {
  /** What stands in the operation for the list. */
  readonly soap?: string;
  readonly pairs?: string;
  /** true: the contacts are deleted; false: none is; an error: none is. */
  readonly outcome: 'true' | 'false' | 'bad-argument';
  readonly deleted?: readonly string[];
}

const CASES: Record<string, Case> = {
  'one item': {
    soap: '<contact_id><string>101</string></contact_id>',
    pairs: 'contact_id=101',
    outcome: 'true',
    deleted: ['101'],
  },
  'many items': {
    soap: '<contact_id><string>101</string><string>102</string><string>103</string></contact_id>',
    pairs: 'contact_id=101&contact_id=102&contact_id=103',
    outcome: 'true',
    deleted: ['101', '102', '103'],
  },
  'an item twice': {
    soap: '<contact_id><string>101</string><string>101</string></contact_id>',
    pairs: 'contact_id=101&Contact_Id=101',
    outcome: 'true',
    deleted: ['101'],
  },
  'items among white space and comments': {
    soap: '<contact_id>\n  <string> 101 </string>\n  <!-- and --><string>102</string>\n</contact_id>',
    pairs: 'contact_id=+101&contact_id=102+',
    outcome: 'true',
    deleted: ['101', '102'],
  },
  'items with xsi:type and an array type of SOAP encoding': {
    soap: '<contact_id xmlns:e="http://schemas.xmlsoap.org/soap/encoding/" xsi:type="e:Array" e:arrayType="xsd:string[1]"><string xsi:type="xsd:string">101</string></contact_id>',
    outcome: 'true',
    deleted: ['101'],
  },
  'a nil item among others': {
    soap: '<contact_id><string>101</string><string xsi:nil="true"/></contact_id>',
    outcome: 'false',
  },
  'nil items only': { soap: '<contact_id><string xsi:nil="1"/></contact_id>', outcome: 'false' },
  'an empty item among others': {
    soap: '<contact_id><string>101</string><string/></contact_id>',
    pairs: 'contact_id=101&contact_id=',
    outcome: 'false',
  },
  'an item that names nobody': {
    soap: '<contact_id><string>101</string><string>999</string></contact_id>',
    pairs: 'contact_id=101&contact_id=999',
    outcome: 'false',
  },
  'items joined by a comma': {
    soap: '<contact_id><string>101,102</string></contact_id>',
    pairs: 'contact_id=101,102',
    outcome: 'false',
  },
  'no item, the wrapper closed': { soap: '<contact_id></contact_id>', outcome: 'bad-argument' },
  'no item, the wrapper self-closed': { soap: '<contact_id/>', outcome: 'bad-argument' },
  'a nil wrapper': { soap: '<contact_id xsi:nil="true"/>', outcome: 'bad-argument' },
  'no wrapper and no item': { soap: '', pairs: '', outcome: 'bad-argument' },
  'items without wrapper': { soap: '<string>101</string><string>102</string>', outcome: 'bad-argument' },
  'the wrapper repeated in place of items': {
    soap: '<contact_id>101</contact_id><contact_id>102</contact_id>',
    outcome: 'bad-argument',
  },
  'items under another name': {
    soap: '<contact_id><item>101</item><contact_id>102</contact_id></contact_id>',
    outcome: 'bad-argument',
  },
  'names with brackets, as PHP and jQuery write them': {
    pairs: 'contact_id[]=101&contact_id%5B0%5D=102',
    outcome: 'bad-argument',
  },
};

async function deleteContacts(service: Service, protocol: string, { soap, pairs }: Case): Promise<Answer> {
  if (protocol === 'soap11' || protocol === 'soap12') {
    const declarations = `xmlns="${NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"`;
    const element = `<DeleteContact ${declarations}><user_id>${ACME}</user_id>${soap}</DeleteContact>`;
    return service.send(soapRequest(protocol, 'account', envelope(protocol, element), 'DeleteContact'));
  }
  const text = `user_id=${ACME}&${pairs}`;
  const path = '/api/account.asmx/DeleteContact';
  if (protocol === 'get') return service.send({ path, query: text });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return service.send({ method: 'POST', path, headers, bytes: text });
}

async function contactsOf(service: Service): Promise<string[]> {
  const { text } = await service.call('get', 'account', 'FetchContacts', { user_id: ACME });
  return [...text.matchAll(/<id>(\d+)<\/id>/g)].map((match) => match[1] as string);
}

function told(protocol: string, answer: Answer): string {
  if (answer.status === 200)
    return /<(?:DeleteContactResult|boolean xmlns="[^"]*")>(\w+)</.exec(answer.text)?.[1] ?? '';
  if (protocol === 'soap11' || protocol === 'soap12') return faultOf(answer).kind;
  return answer.status === 400 && answer.text.startsWith('contact_id: ') ? 'bad-argument' : String(answer.status);
}

const testCase = (engine: Engine, name: string, protocol: string, given: Case) =>
  test(`a list with ${name} is answered with ${given.outcome} (${protocol})`, async () => {
    const service = await startService(engine);
    try {
      const before = await contactsOf(service);
      assert.ok(['101', '102', '103'].every((id) => before.includes(id)));
      assert.equal(told(protocol, await deleteContacts(service, protocol, given)), given.outcome);
      const gone = before.filter((id) => !(given.deleted ?? []).includes(id));
      assert.deepEqual(await contactsOf(service), gone);
    } finally {
      await service.stop();
    }
  });

onOneEngine('lists of strings', (engine) => {
  for (const [name, given] of Object.entries(CASES)) {
    const forms = [
      ...(given.soap === undefined ? [] : ['soap11', 'soap12']),
      ...(given.pairs === undefined ? [] : ['get', 'post']),
    ];
    for (const protocol of forms) testCase(engine, name, protocol, given);
  }
});
