import type { HttpConfig } from './config.ts';
import type { ProviderFile } from './form.ts';
import { PATH_SECRET } from './signatures.ts';

/** Where the provider calls back; undefined if the file has no such callback. */
export function callbackUrlOf(
  connector: string,
  { publicUrl, secrets }: Pick<HttpConfig, 'publicUrl' | 'secrets'>,
  { callbacks }: ProviderFile,
  is: 'receipt' | 'incoming',
): string | undefined {
  const callback = callbacks.find((each) => each.is === is);
  if (!callback || publicUrl === undefined) return undefined;
  const secret = callback.check.kind === 'secretPath' ? `${secrets[PATH_SECRET]}/` : '';
  return `${publicUrl.replace(/\/+$/, '')}/carriers/${connector}/${secret}${callback.path}`;
}
