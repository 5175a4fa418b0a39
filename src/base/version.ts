import { programText } from './program-files.ts';

export const version: string = JSON.parse(programText('../package.json')).version;
