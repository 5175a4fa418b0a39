/** The part of strong-soap that the tests use; the package brings no types. */
declare module 'strong-soap' {
  type Done = (error: unknown, response: Record<string, unknown> | undefined, xml: string) => void;
  type Operation = (args: object, done: Done) => void;

  interface Client {
    /** By service, port and operation. */
    readonly [service: string]: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }

  const strong: {
    readonly soap: {
      createClient(wsdl: string, options: object, done: (error: Error | null, client: Client) => void): void;
    };
  };
  export default strong;
}
