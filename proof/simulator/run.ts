import { installHooks } from './hooks.ts';

/** `npm run simulate`. The hooks come before everything that they change. */
installHooks();
await import('./main.ts');
