import assert from 'node:assert/strict';
import { XmlBufferInputProvider, XmlDocument, XsdValidator, xmlRegisterInputProvider } from 'libxml2-wasm';
import { contract } from '../../src/asmx/contract/contract.ts';
import { wsdl } from '../../src/asmx/pages/wsdl.ts';

/** Holds replies against the schema in our own WSDL, and DataSets against the schema that they carry. */

export const NAMESPACE = 'http://sms.example/api';

/**
 * The type of a DataSet refers to the schema of schemas and to "anything", which must be declared.
 * These two declare an xs:schema and a diffgram with any content. The rows are then held against
 * the schema in the reply.
 */
const lax = (namespace: string, element: string) => `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
  targetNamespace="${namespace}" elementFormDefault="qualified"><xs:element name="${element}"><xs:complexType><xs:sequence>
  <xs:any minOccurs="0" maxOccurs="unbounded" processContents="skip" namespace="##any"/></xs:sequence>
  <xs:anyAttribute processContents="skip"/></xs:complexType></xs:element></xs:schema>`;

const XS = 'http://www.w3.org/2001/XMLSchema';
const DIFFGRAM = 'urn:schemas-microsoft-com:xml-diffgram-v1';
const provided = {
  'mem:///schema.xsd': Buffer.from(lax(XS, 'schema')),
  'mem:///diffgram.xsd': Buffer.from(lax(DIFFGRAM, 'diffgram')),
};
xmlRegisterInputProvider(new XmlBufferInputProvider(provided));

const validators = new Map<string, XsdValidator>();

function validatorOf(group: string): XsdValidator {
  let validator = validators.get(group);
  if (!validator) {
    const text = wsdl(group, contract[group as keyof typeof contract], NAMESPACE)('http://localhost');
    const [schema] =
      /<s:schema elementFormDefault[\s\S]*?<\/s:schema>/.exec(text) ?? assert.fail('no schema in the WSDL');
    const imports = `<s:import namespace="${XS}" schemaLocation="mem:///schema.xsd"/><s:import namespace="${DIFFGRAM}" schemaLocation="mem:///diffgram.xsd"/>`;
    const whole = schema.replace(
      /^<s:schema([^>]*)>/,
      `<s:schema xmlns:s="${XS}" xmlns:tns="${NAMESPACE}"$1>${imports}`,
    );
    validator = XsdValidator.fromDoc(XmlDocument.fromString(whole, { url: `mem:///${group}.xsd` }));
    validators.set(group, validator);
  }
  return validator;
}

/** `xml` is a bare result, or a SOAP envelope that holds one. */
export function validateResult(group: string, xml: string): void {
  parse(xml).dispose();
  const element = /<soap:Body>([\s\S]*)<\/soap:Body>/.exec(xml)?.[1] ?? xml;
  const document = parse(element);
  try {
    validatorOf(group).validate(document);
  } finally {
    document.dispose();
  }
  if (element.includes('<diffgr:diffgram')) validateDataSet(element);
}

function validateDataSet(xml: string): void {
  const [schema] = /<xs:schema [\s\S]*<\/xs:schema>/.exec(xml) ?? assert.fail('a DataSet without schema');
  const data = /<NewDataSet xmlns="">[\s\S]*<\/NewDataSet>/.exec(xml)?.[0];
  if (!data) return;
  const plain = data.replace(/ diffgr:id="Table\d+" msdata:rowOrder="\d+"| xml:space="preserve"/g, '');
  const document = parse(plain);
  const schemaDocument = parse(schema);
  const validator = XsdValidator.fromDoc(schemaDocument);
  try {
    validator.validate(document);
  } finally {
    validator.dispose();
    schemaDocument.dispose();
    document.dispose();
  }
}

export function parse(xml: string): XmlDocument {
  return XmlDocument.fromString(xml);
}
