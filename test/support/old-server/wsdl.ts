import type { Ways } from './ways.ts';

/** The WSDLs of the old server, as ASMX writes them: whole for SOAP, ports only for GET and POST. */

const RECORDS: Readonly<Record<string, string>> = {
  AccountDetail:
    'datetimeCreated:dateTime datetimeLastLoggedIn:dateTime userID username password contactName contactSurname company email tel fax mobile address credits:long usedCredits:long transmissionPriority:int tag:int',
  Contact: 'name surname id mobile groupid',
  Group: 'name id:int total:int',
  ReceivedMessage: 'id:long sender message short_code timestamp:dateTime',
  DeliveryStatus: 'recipient user_message_id delivery_status timestamp_updated:dateTime',
};

/** Each line: operation, parameters besides user_id, and after the arrow its result. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  account: [
    'Profile → AccountDetail',
    'FetchContacts → Contact[]',
    'FetchContactsDS → DataSet',
    'FetchContactsByGroupId groupid:int → Contact[]',
    'FetchContactsByGroupIdDS groupid:int → DataSet',
    'FetchContact mobile → Contact',
    'LookupContact mobile → Contact',
    'FetchGroups → Group[]',
    'RemoveContactFromGroup contact_id:string[] group_id → boolean',
    'MoveContactToNewGroup contact_id:string[] group_id → boolean',
    'DeleteContact contact_id:string[] → boolean',
    'DeleteContactsById id:int → boolean',
    'FetchSavedMessages → string[]',
    'SaveMessageTemplate message → boolean',
    'DeleteMessageTemplate message → boolean',
    'BlackListNumber mobile sample_message → boolean',
  ],
  inbox: [
    'Read from:dateTime to:dateTime max_count:int → ReceivedMessage[]',
    'Unread max_count:int → ReceivedMessage[]',
    'InboxDS max_count:int → DataSet',
    'CountRead → long',
    'CountUnread → long',
    'MarkMessageAsRead message_id → boolean',
    'DeleteMessage message_id → boolean',
    'DeleteAllMessages → boolean',
  ],
  sent: [
    'FetchUnmarkedDeliveryStatus max:int → DeliveryStatus[]',
    'CountUnMarkedDeliveryStatus → long',
    'FetchSentDS max:int → DataSet',
    'MarkMessageAsRead id:long → boolean',
    'DeleteSentMessage message_id → boolean',
  ],
  compose: [
    'FetchScheduledDS max:int → DataSet',
    'DeleteScheduledMessage message_id → boolean',
    'DeleteAllScheduled → boolean',
  ],
};

const isSimple = (type: string): boolean => ['string', 'boolean', 'int', 'long', 'dateTime'].includes(type);
const arrayOf = (item: string): string => `ArrayOf${item[0]?.toUpperCase()}${item.slice(1)}`;

function element(name: string, type: string): string {
  if (type === 'DataSet') {
    return `<s:element minOccurs="0" maxOccurs="1" name="${name}"><s:complexType><s:sequence><s:element ref="s:schema" /><s:any /></s:sequence></s:complexType></s:element>`;
  }
  if (type.endsWith('[]')) return element(name, `tns:${arrayOf(type.slice(0, -2))}`);
  const isText = type === 'string' || !isSimple(type);
  const named = isSimple(type) ? `s:${type}` : type.startsWith('tns:') ? type : `tns:${type}`;
  return `<s:element minOccurs="${isText ? 0 : 1}" maxOccurs="1" name="${name}" type="${named}" />`;
}

const fields = (text: string): string =>
  text
    .split(' ')
    .filter((each) => each !== '')
    .map((each) => {
      const [name = '', type = 'string'] = each.split(':');
      return element(name, type);
    })
    .join('');

function arrayType(item: string): string {
  const type = isSimple(item) ? `s:${item}` : `tns:${item}`;
  return `<s:complexType name="${arrayOf(item)}"><s:sequence><s:element minOccurs="0" maxOccurs="unbounded" name="${item}" nillable="true" type="${type}" /></s:sequence></s:complexType>`;
}

function schemaOf(lines: readonly string[], namespace: string): string {
  const arrays = new Set<string>();
  const elements = lines.map((line) => {
    const [call = '', result = ''] = line.split(' → ');
    const [name = '', ...parameters] = call.split(' ');
    for (const type of [result, ...parameters.map((each) => each.split(':')[1] ?? 'string')]) {
      if (type.endsWith('[]')) arrays.add(type.slice(0, -2));
    }
    const request = fields(['user_id', ...parameters].join(' '));
    return `<s:element name="${name}"><s:complexType><s:sequence>${request}</s:sequence></s:complexType></s:element><s:element name="${name}Response"><s:complexType><s:sequence>${element(`${name}Result`, result)}</s:sequence></s:complexType></s:element>`;
  });
  const records = Object.entries(RECORDS).map(
    ([name, text]) => `<s:complexType name="${name}"><s:sequence>${fields(text)}</s:sequence></s:complexType>`,
  );
  return `<s:schema elementFormDefault="qualified" targetNamespace="${namespace}"><s:import namespace="http://www.w3.org/2001/XMLSchema" />${elements.join('')}${records.join('')}${[...arrays].map(arrayType).join('')}</s:schema>`;
}

const BINDINGS = {
  soap11: ['Soap', 'soap:address'],
  soap12: ['Soap12', 'soap12:address'],
  get: ['HttpGet', 'http:address'],
  post: ['HttpPost', 'http:address'],
} as const;

function bindingOf(group: string, names: readonly string[], protocol: Ways['protocols'][number], namespace: string) {
  const [suffix] = BINDINGS[protocol];
  const name = `${group}${suffix}`;
  if (protocol === 'get' || protocol === 'post') {
    const verb = protocol.toUpperCase();
    return `<wsdl:portType name="${name}" /><wsdl:binding name="${name}" type="tns:${name}"><http:binding verb="${verb}" /></wsdl:binding>`;
  }
  const soap = protocol === 'soap11' ? 'soap' : 'soap12';
  const operations = names.map(
    (each) =>
      `<wsdl:operation name="${each}"><${soap}:operation soapAction="${namespace}${each}" style="document" /><wsdl:input><${soap}:body use="literal" /></wsdl:input><wsdl:output><${soap}:body use="literal" /></wsdl:output></wsdl:operation>`,
  );
  return `<wsdl:binding name="${name}" type="tns:${group}Soap"><${soap}:binding transport="http://schemas.xmlsoap.org/soap/http" />${operations.join('')}</wsdl:binding>`;
}

/** `url` is the address that the client has asked, as ASMX has it from the field Host. */
export function wsdl(group: string, ways: Ways, url: string): string {
  const { namespace, protocols, moreInWsdl = {}, notInWsdl = [] } = ways;
  const lines = [...(OPERATIONS[group] ?? []), ...(moreInWsdl[group] ?? [])].filter(
    (line) => !notInWsdl.includes(`${group}.${line.split(' ')[0]}`),
  );
  const names = lines.map((line) => line.split(' ')[0] as string);
  const messages = names.map((name) =>
    [
      ['In', name],
      ['Out', `${name}Response`],
    ]
      .map(
        ([way, part]) =>
          `<wsdl:message name="${name}Soap${way}"><wsdl:part name="parameters" element="tns:${part}" /></wsdl:message>`,
      )
      .join(''),
  );
  const calls = names.map(
    (name) =>
      `<wsdl:operation name="${name}"><wsdl:input message="tns:${name}SoapIn" /><wsdl:output message="tns:${name}SoapOut" /></wsdl:operation>`,
  );
  const ports = protocols.map((protocol) => {
    const [suffix, address] = BINDINGS[protocol];
    return `<wsdl:port name="${group}${suffix}" binding="tns:${group}${suffix}"><${address} location="${url}/api/${group}.asmx" /></wsdl:port>`;
  });
  return `<?xml version="1.0" encoding="utf-8"?><wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/" xmlns:http="http://schemas.xmlsoap.org/wsdl/http/" xmlns:tns="${namespace}" targetNamespace="${namespace}"><wsdl:types>${schemaOf(lines, namespace)}</wsdl:types>${messages.join('')}<wsdl:portType name="${group}Soap">${calls.join('')}</wsdl:portType>${protocols.map((each) => bindingOf(group, names, each, namespace)).join('')}<wsdl:service name="${group}">${ports.join('')}</wsdl:service></wsdl:definitions>`;
}
