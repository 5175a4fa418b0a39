import { meaningOf } from '../contract/meanings.ts';
import type { Operation } from '../contract/types.ts';
import { examplePairs } from './samples.ts';

/** The same call as a program, in the languages that people ask for. */
export interface Snippet {
  readonly language: string;
  readonly program: string;
}

export function snippets(address: string, name: string, operation: Operation, userId = 'USER_ID'): Snippet[] {
  const pairs = examplePairs(operation).map(([key, value]): [string, string] => [
    key,
    key === 'user_id' ? userId : value,
  ]);
  const given = Object.keys(operation.parameters).map((key): Given => {
    const { example } = meaningOf(key);
    return [key, key === 'user_id' ? userId : example];
  });
  return [
    { language: 'curl', program: curl(address, name, pairs) },
    { language: 'PHP', program: php(address, name, given) },
    { language: 'Python', program: python(address, name, given) },
    { language: 'C#', program: csharp(address, name, pairs) },
    { language: 'Node', program: node(address, name, pairs) },
  ];
}

type Given = [string, string | readonly string[]];
type Pairs = readonly (readonly [string, string])[];

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** PHP and Python: only the quotation mark and the backslash mean something between single quotes. */
const singleQuoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;

const curl = (address: string, name: string, pairs: Pairs): string =>
  [
    `curl ${shellQuoted(`${address}/${name}`)}`,
    ...pairs.map(([key, value]) => `  --data-urlencode ${shellQuoted(`${key}=${value}`)}`),
  ].join(' \\\n');

function php(address: string, name: string, given: Given[]): string {
  const values = given.map(([key, value]) => {
    const text =
      typeof value === 'string' ? singleQuoted(value) : `['string' => [${value.map(singleQuoted).join(', ')}]]`;
    return `    '${key}' => ${text},\n`;
  });
  return `<?php
$client = new SoapClient(${singleQuoted(`${address}?WSDL`)});
$answer = $client->${name}([
${values.join('')}]);
var_dump($answer->${name}Result ?? null);`;
}

/** The arguments are a dictionary, because one of them is called \`from\`. */
function python(address: string, name: string, given: Given[]): string {
  const values = given.map(([key, value]) => {
    const text =
      typeof value === 'string' ? singleQuoted(value) : `{'string': [${value.map(singleQuoted).join(', ')}]}`;
    return `    '${key}': ${text},\n`;
  });
  return `from zeep import Client

client = Client(${singleQuoted(`${address}?WSDL`)})
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
