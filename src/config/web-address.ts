import type { Config } from './settings.ts';

const WEB_PORT = 8_081;

/** The port of the web listener; null if it is switched off. */
export function webPortOf({ port, webPort }: Pick<Config, 'port' | 'webPort'>): number | null {
  if (webPort === 'default') return port === 0 ? 0 : WEB_PORT;
  return webPort === 'off' ? null : webPort;
}

/**
 * The public URL of the web listener. It is undefined if the listener is off, or if its port is not
 * known yet. `localhost` replaces 0.0.0.0 and ::, which nobody can connect to.
 */
export function webUrlOf(config: Pick<Config, 'port' | 'webHost' | 'webPort' | 'webUrl'>): string | undefined {
  const port = webPortOf(config);
  if (port === null) return undefined;
  if (config.webUrl !== '') return config.webUrl;
  if (port === 0) return undefined;
  const host = ['0.0.0.0', '::'].includes(config.webHost) ? 'localhost' : config.webHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
