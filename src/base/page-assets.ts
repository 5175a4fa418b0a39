import { hash } from 'node:crypto';
import { programText } from './program-files.ts';

/** Style and icon of all pages: those of the contract, of the console and of the API. */
const asset = (name: string): string => programText(`base/assets/${name}`).trim();

/** The style of documents, such as the pages of the contract. */
export const documentStyle = asset('document.css');

const [base, print] = [asset('base.css'), asset('print.css')];
/**
 * The common style, then that of the page. The rules for print come last, so that they override the
 * others.
 */
export const styleOf = (...own: readonly string[]): string => [base, ...own, print].join('\n');
export const icon = `data:image/svg+xml,${encodeURIComponent(asset('icon.svg'))}`;

/** A source of a Content-Security-Policy that allows exactly this text. */
export const policyHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;
