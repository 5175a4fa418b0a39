import { Problem } from '../base/problem.ts';
import { type Config, flagOf, settings } from '../config/settings.ts';
import { webPortOf } from '../config/web-address.ts';

/** Where a listener was to listen, and what says so: `--port or COLUMBA_PORT`. */
export interface Listener {
  readonly host: string;
  readonly port: number | null;
  readonly hostSetting: string;
  readonly portSetting: string;
}

type ListenError = NodeJS.ErrnoException & {
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
};

/** Throws what keeps a listener from listening as a sentence with the remedy. */
export function throwListenProblem(
  thrown: NodeJS.ErrnoException,
  { host, port, hostSetting, portSetting }: Listener,
): never {
  const unknownName = `The name ${host} has no address. Choose an address of this machine with ${hostSetting}.`;
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} is taken. Choose another port with ${portSetting}.`,
    EADDRNOTAVAIL: `This machine does not have the address ${host}. Choose one that it has, or 0.0.0.0 for all, with ${hostSetting}.`,
    EACCES: `This user may not listen on port ${port}. Choose a port above 1023 with ${portSetting}.`,
    ENOTFOUND: unknownName,
    EAI_AGAIN: unknownName,
  };
  const sentence = sentences[thrown.code ?? ''];
  if (sentence === undefined) throw thrown;
  throw new Problem('bad-argument', sentence);
}

/** The same for the service, whose listener the error tells by its port, or else by its address. */
export const listenProblem =
  (config: Config) =>
  (thrown: ListenError): never => {
    const named = (name: keyof Config & keyof typeof settings) => `--${flagOf(name)} or ${settings[name].variable}`;
    const contract: Listener = {
      host: config.host,
      port: config.port,
      hostSetting: named('host'),
      portSetting: named('port'),
    };
    const listeners: Listener[] = [
      contract,
      {
        host: config.webHost,
        port: webPortOf(config),
        hostSetting: named('webHost'),
        portSetting: named('webPort'),
      },
      {
        host: config.metricsHost,
        port: config.metricsPort,
        hostSetting: named('metricsHost'),
        portSetting: named('metricsPort'),
      },
      {
        host: config.healthHost,
        port: config.healthPort,
        hostSetting: named('healthHost'),
        portSetting: named('healthPort'),
      },
    ];
    const where = thrown.address ?? thrown.hostname;
    const found = listeners.find(({ host, port }) => (thrown.port ? port === thrown.port : host === where));
    throwListenProblem(thrown, found ?? contract);
  };
