import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** What pages of all faces share: their look and their icon. */
const asset = (name: string): string => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8').trim();

/** Of every page. */
export const baseStyle = asset('base.css');
/** Of pages to read, on top of the base. */
export const documentStyle = `${baseStyle}\n${asset('document.css')}`;
export const icon = `data:image/svg+xml,${encodeURIComponent(asset('icon.svg'))}`;

/** A source of a Content-Security-Policy that allows exactly this text. */
export const policyHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;
