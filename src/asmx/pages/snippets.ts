import type { Operation, ParameterType } from '../contract/types.ts';
import { PLAIN_FORM, type ResultForm } from '../results/result-form.ts';
import { csharpProxy, type Given } from './csharp.ts';
import { type CallTarget, exampleOf, examplePairs } from './samples.ts';

/** One call as a program, in several languages. */
export interface Snippet {
  readonly language: string;
  readonly program: string;
}

export interface SnippetTarget extends CallTarget {
  /** Whether an operation of the group takes a list. Then the WSDL refers to SOAP's Array. */
  readonly hasLists: boolean;
  /** How the result is written; without it, as Columba writes it. */
  readonly form?: ResultForm;
}

export function snippets(target: SnippetTarget, name: string, operation: Operation): Snippet[] {
  const { address, userId, form = PLAIN_FORM } = target;
  const pairs = examplePairs(operation, userId);
  const given = Object.keys(operation.parameters).map((key): Given => [key, exampleOf(key, userId)]);
  const values = given.map(([key, value]): Given => [key, scripted(operation.parameters[key] as ParameterType, value)]);
  return [
    { language: 'C# with the WSDL', program: csharpProxy(address, name, operation, given, form) },
    { language: 'C# with HttpClient', program: csharp(address, name, pairs) },
    { language: 'PHP', program: php(address, name, values) },
    { language: 'Python', program: python(target, name, values) },
    { language: 'Node', program: node(address, name, pairs) },
  ];
}

/** A command line for a shell. */
export const curlLine = (address: string, name: string, operation: Operation, userId: string): string =>
  [
    `curl ${shellQuoted(`${address}/${name}`)}`,
    ...examplePairs(operation, userId).map(([key, value]) => `  --data-urlencode ${shellQuoted(`${key}=${value}`)}`),
  ].join(' \\\n');

type Pairs = readonly (readonly [string, string])[];

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** In single quotes, PHP and Python escape only the quote and the backslash. */
const singleQuoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;

/** A literal of PHP and Python. A list has one for each item. */
function scripted(type: ParameterType, value: string | readonly string[]): string | readonly string[] {
  if (typeof value !== 'string') return value.map(singleQuoted);
  const isNumber = type.kind === 'scalar' && (type.name === 'int' || type.name === 'long');
  return isNumber ? value : singleQuoted(value);
}

function php(address: string, name: string, given: Given[]): string {
  const values = given.map(([key, value]) => {
    const text = typeof value === 'string' ? value : `['string' => [${value.join(', ')}]]`;
    return `    '${key}' => ${text},\n`;
  });
  return `<?php
$client = new SoapClient(${singleQuoted(`${address}?WSDL`)});
$answer = $client->${name}([
${values.join('')}]);
var_dump($answer->${name}Result ?? null);`;
}

/** zeep would download this schema from its namespace. A stub is enough: no call uses the type. */
const ARRAY_SCHEMA = `# The WSDL refers to this schema. zeep would download it.
ARRAY = b"""<schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="http://schemas.xmlsoap.org/soap/encoding/">
<complexType name="Array"><sequence><any minOccurs="0" maxOccurs="unbounded"/></sequence></complexType></schema>"""

class Offline(Transport):
    def load(self, url):
        return ARRAY if url == 'http://schemas.xmlsoap.org/soap/encoding/' else super().load(url)

`;

/** The arguments are a dictionary, because one of them is called \`from\`. */
function python({ address, hasLists }: SnippetTarget, name: string, given: Given[]): string {
  const values = given.map(([key, value]) => {
    const text = typeof value === 'string' ? value : `{'string': [${value.join(', ')}]}`;
    return `    '${key}': ${text},\n`;
  });
  return `from zeep import Client${hasLists ? ', Transport' : ''}

${hasLists ? ARRAY_SCHEMA : ''}client = Client(${singleQuoted(`${address}?WSDL`)}${hasLists ? ', transport=Offline()' : ''})
answer = client.service.${name}(**{
${values.join('')}})
print(answer)`;
}

const csharp = (address: string, name: string, pairs: Pairs): string => `using var client = new HttpClient();
var answer = await client.PostAsync(${JSON.stringify(`${address}/${name}`)}, new FormUrlEncodedContent([
${pairs.map(([key, value]) => `    new(${JSON.stringify(key)}, ${JSON.stringify(value)}),`).join('\n')}
]));
Console.WriteLine(await answer.Content.ReadAsStringAsync());`;

const node = (
  address: string,
  name: string,
  pairs: Pairs,
): string => `const answer = await fetch(${singleQuoted(`${address}/${name}`)}, {
  method: 'POST',
  body: new URLSearchParams([
${pairs.map(([key, value]) => `    [${singleQuoted(key)}, ${singleQuoted(value)}],`).join('\n')}
  ]),
});
console.log(await answer.text());`;
