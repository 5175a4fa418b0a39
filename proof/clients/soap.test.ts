import soap from 'soap';
import { type Caller, ClientFault, type Fault11, type Fault12, npmClient } from './javascript.ts';
import { runStories } from './stories.ts';

/** The npm package soap, told to keep white space and to read a long with all its digits. */
runStories(
  npmClient({
    name: 'soap',
    quirks: [],
    dateTime: (text) => text, // it writes a Date as no XML Schema knows it
    async connect(wsdl, group, version): Promise<Caller> {
      const client = await soap.createClientAsync(wsdl, {
        disableCache: true,
        forceSoap12Headers: version === 'soap12',
        preserveWhitespace: true,
        customDeserializer: { long: (text: string) => BigInt(text) },
      });
      const port: Record<string, Method> = client[group][`${group}${version === 'soap12' ? 'Soap12' : 'Soap'}`];
      return (operation, args) =>
        new Promise((resolve, reject) => {
          port[operation]?.(args, (error, response, xml) => {
            if (error) reject(isFault(error) ? faultOf(error) : error);
            else resolve({ response, xml });
          });
        });
    },
  }),
);

type Method = (
  args: object,
  done: (error: unknown, response: Record<string, unknown> | null, xml: string) => void,
) => void;

interface FaultError {
  readonly root: { readonly Envelope: { readonly Body: { readonly Fault: Fault11 | Fault12 } } };
  readonly response: { readonly status: number };
  readonly body: string;
}

const isFault = (error: unknown): error is FaultError =>
  (error as Partial<FaultError>).root?.Envelope?.Body.Fault !== undefined;

const faultOf = ({ root, response, body }: FaultError): ClientFault =>
  new ClientFault(root.Envelope.Body.Fault, response.status, body);
