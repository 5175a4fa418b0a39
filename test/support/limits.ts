import { readConfig } from '../../src/config/settings.ts';
import type { WireLimits } from '../../src/wire/form.ts';

/** The limits of the wire as the settings have them where nothing else is said. */
export const LIMITS: WireLimits = readConfig({});
