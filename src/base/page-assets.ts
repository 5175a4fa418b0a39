import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** What pages of all faces share: their look and their icon. */
const asset = (name: string): string => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8').trim();

/** Of pages to read. */
export const documentStyle = asset('document.css');

const [base, print] = [asset('base.css'), asset('print.css')];
/** What every page has, then its own. The rules for paper come last, so that they win. */
export const styleOf = (...own: readonly string[]): string => [base, ...own, print].join('\n');
export const icon = `data:image/svg+xml,${encodeURIComponent(asset('icon.svg'))}`;

/** A source of a Content-Security-Policy that allows exactly this text. */
export const policyHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;
