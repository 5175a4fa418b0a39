import type { Operation } from '../../asmx/contract/types.ts';
import type { Dialect } from '../../asmx/dialect/dialect.ts';
import { createXmlDecoder } from '../../asmx/protocols/encoding.ts';
import { parseMediaType } from '../../asmx/protocols/media-type.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { type PieceLimits, type Treatment, type XmlPiece, XmlPieces } from '../../asmx/xml/pieces.ts';
import type { XmlElement } from '../../asmx/xml/reader.ts';
import {
  type FaultAnswer,
  LIMITS,
  operationOf,
  SOAP_NAMESPACES,
  soapFault,
  type UnreadableAnswer,
  understood,
  valuesOf,
} from './answer.ts';
import { DIFFGRAM, isDiffgram, isSchema, rowValues, tableOf } from './answer-dataset.ts';
import { Unreadable, type ValueRecord } from './answer-values.ts';

/**
 * Reads the rows of a list or DataSet while the answer arrives. It holds at most the rows of one
 * part of the answer and an incomplete row. The iteration ends without an error only if the answer
 * was complete; otherwise it throws FailedAnswer, or the error of the bytes.
 */
export interface RowsAnswer {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array>;
}
export interface RowsOperation {
  readonly group: string;
  readonly operation: string;
  readonly protocol: ProtocolName;
  readonly dialect: Dialect;
  /** The zone of dates without one, if the dialect names none. */
  readonly zone: string;
}

/** The answer is a fault, or cannot be read. */
export class FailedAnswer extends Error {
  readonly result: Failure;

  constructor(result: Failure) {
    super(result.kind);
    this.result = result;
  }
}
export type Failure = FaultAnswer | UnreadableAnswer;

// A message has some hundred characters. No column of the contract comes near a megabyte.
const PIECE_LIMITS: PieceLimits = { ...LIMITS, pieceLengthMax: 1_048_576, openElementsMax: 1_000 };
// Smaller parts are joined, because an incomplete row is looked at again with each part.
const PART_BYTES = 32_768;
const ROWS_MAX = 4_000_000;
// Removed from errors, because it is the position in a piece, not in the answer.
const POSITION = / \(line \d+, column \d+\)/;

export async function* readRowsOf(operation: RowsOperation, answer: RowsAnswer): AsyncGenerator<ValueRecord[]> {
  const rows = new RowReader(operation);
  const pieces = new XmlPieces(PIECE_LIMITS, (path) => rows.treat(path));
  const decode = createXmlDecoder(parseMediaType(answer.contentType).parameters.charset);
  for await (const [part, isLast] of parts(answer.body)) {
    const read = understood(() => {
      const found = [...pieces.read(decode(part, isLast))].flatMap((piece) => rows.take(piece));
      if (!isLast) return found;
      if (part.length === 0 && rows.isUntouched) throw new Unreadable('The answer is empty.');
      pieces.finish();
      rows.finish();
      return found;
    });
    if (!Array.isArray(read)) throw new FailedAnswer({ ...read, reason: read.reason.replace(POSITION, '') });
    if (read.length > 0) yield read;
  }
}

/** Joins chunks to parts of at least PART_BYTES, except the last one. */
async function* parts(body: AsyncIterable<Uint8Array>): AsyncGenerator<[Uint8Array, boolean]> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    waiting.push(chunk);
    length += chunk.length;
    if (length < PART_BYTES) continue;
    yield [Buffer.concat(waiting), false];
    waiting = [];
    length = 0;
  }
  yield [Buffer.concat(waiting), true];
}

/** Finds the rows in an answer and reads them. */
class RowReader {
  readonly #operation: RowsOperation;
  readonly #declared: Operation;
  readonly #toValues: (row: XmlElement) => ValueRecord;
  /** The elements around the result; none if the result is the root. */
  readonly #outer: readonly ((element: XmlElement) => Treatment)[];
  /** The name of the rows of a DataSet. */
  #table = '';
  #hasSchema = false;
  #hasDiffgram = false;
  #hasData = false;
  #hasOther = false;
  #hasBody = false;
  #rows = 0;
  isUntouched = true;

  constructor(operation: RowsOperation) {
    const { group, operation: name, protocol, dialect, zone } = operation;
    this.#operation = operation;
    const declared = operationOf(group, name);
    if (!declared) throw new TypeError(`there is no operation ${group}.${name}`);
    this.#declared = declared;
    this.#toValues = rowValues(declared, `${group}.${name}`, valuesOf(declared, dialect, zone));
    const isSoap = protocol === 'soap11' || protocol === 'soap12';
    this.#outer = isSoap ? [this.#envelope, this.#body, this.#response, this.#resultOf] : [];
  }

  treat(path: readonly XmlElement[]): Treatment {
    this.isUntouched = false;
    const element = path.at(-1) as XmlElement;
    const depth = path.length - 1;
    const inside = depth - Math.max(0, this.#outer.length - 1);
    const outer = this.#outer[depth];
    if (outer) return outer(element);
    if (inside === 0) return this.#result();
    if (inside === 1) return this.#inDataSet(element);
    return this.#inDiffgram(element);
  }

  /** Returns the rows of a piece. */
  take({ parents, elements }: XmlPiece): ValueRecord[] {
    this.isUntouched = false;
    const inside = parents.length - Math.max(0, this.#outer.length - 1);
    if (inside < 0) for (const element of elements) this.#around(element, parents.length);
    const isDataSet = this.#declared.result.kind === 'dataSet';
    if (isDataSet && inside === 1) for (const element of elements) this.#partOfDataSet(element);
    if (inside !== (isDataSet ? 3 : 1)) return [];
    if (isDataSet && this.#table === '') this.#table = elements[0]?.local ?? '';
    const rows = isDataSet ? elements.filter(({ local }) => local === this.#table) : elements;
    this.#rows += rows.length;
    if (this.#rows > ROWS_MAX) throw new Unreadable(`The answer has more than ${ROWS_MAX} rows.`);
    return rows.map(this.#toValues);
  }

  /** Throws Unreadable if something is missing. */
  finish(): void {
    if (this.#outer.length > 0 && !this.#hasBody) throw new Unreadable('The answer has no SOAP Body.');
    if (this.#hasOther && !this.#hasSchema && !this.#hasDiffgram) throw new Unreadable('The answer has no DataSet.');
  }

  readonly #envelope = ({ local, uri }: XmlElement): Treatment => {
    if (local !== 'Envelope' || !SOAP_NAMESPACES.includes(uri)) throw new Unreadable('The answer is no SOAP envelope.');
    return 'open';
  };
  readonly #body = ({ local }: XmlElement): Treatment => (local === 'Body' ? 'open' : 'whole');
  readonly #response = ({ local }: XmlElement): Treatment => {
    if (local === 'Fault') return 'whole';
    this.#checkResponse(local);
    return 'open';
  };
  readonly #resultOf = ({ local }: XmlElement): Treatment =>
    local === `${this.#operation.operation}Result` ? this.#result() : 'whole';

  #result(): Treatment {
    return this.#declared.result.kind === 'dataSet' ? 'open' : 'rows';
  }

  #inDataSet(element: XmlElement): Treatment {
    if (!isDiffgram(element)) return 'whole';
    this.#hasDiffgram = true;
    return 'open';
  }

  /** Deleted and changed rows are beside the data, in diffgr:before and diffgr:errors. */
  #inDiffgram({ uri }: XmlElement): Treatment {
    if (uri === DIFFGRAM || this.#hasData) return 'whole';
    this.#hasData = true;
    return 'rows';
  }

  #around(element: XmlElement, depth: number): void {
    if (depth === 0) return void this.#envelope(element);
    if (depth !== 2) return;
    if (element.local === 'Fault') throw new FailedAnswer(soapFault(element));
    this.#checkResponse(element.local);
  }

  #checkResponse(local: string): void {
    const expected = `${this.#operation.operation}Response`;
    if (local !== expected) throw new Unreadable(`The Body has no ${expected}.`);
    this.#hasBody = true;
  }

  #partOfDataSet(element: XmlElement): void {
    if (isSchema(element)) {
      this.#hasSchema = true;
      this.#table = tableOf(element);
    } else if (isDiffgram(element)) this.#hasDiffgram = true;
    else this.#hasOther = true;
  }
}
