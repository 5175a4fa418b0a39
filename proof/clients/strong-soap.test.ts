import strong from 'strong-soap';
import { type Caller, ClientFault, type Fault11, type Fault12, npmClient } from './javascript.ts';
import { runStories } from './stories.ts';

/** The npm package strong-soap. It takes the SOAP version from the port. */
runStories(
  npmClient({
    name: 'strong-soap',
    quirks: ['trims text', 'empty is null', 'long is a double'],
    dateTime: (text) => new Date(text),
    async connect(wsdl, group, version): Promise<Caller> {
      const client = await new Promise<Parameters<Parameters<typeof strong.soap.createClient>[2]>[1]>(
        (resolve, reject) =>
          strong.soap.createClient(wsdl, { WSDL_CACHE: {} }, (error, made) => (error ? reject(error) : resolve(made))),
      );
      const port = client[group]?.[`${group}${version === 'soap12' ? 'Soap12' : 'Soap'}`];
      return (operation, args) =>
        new Promise((resolve, reject) => {
          port?.[operation]?.(args, (error, response, xml) => {
            if (error) reject(isFault(error) ? faultOf(error) : error);
            else resolve({ response, xml });
          });
        });
    },
  }),
);

interface FaultError {
  readonly root: { readonly Envelope: { readonly Body: { readonly Fault: Fault11 | Fault12 } } };
  readonly response: { readonly statusCode: number };
  readonly body: string;
}
const isFault = (error: unknown): error is FaultError =>
  (error as Partial<FaultError>).root?.Envelope.Body.Fault !== undefined;

const faultOf = ({ root, response, body }: FaultError): ClientFault =>
  new ClientFault(root.Envelope.Body.Fault, response.statusCode, body);
