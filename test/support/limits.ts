import type { WireLimits } from '../../src/asmx/protocols/protocol.ts';
import { readConfig } from '../../src/config/settings.ts';

/** The limits of the wire as the settings have them where nothing else is said. */
export const LIMITS: WireLimits = readConfig({});
