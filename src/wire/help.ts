import type { Contract } from '../contract/types.ts';
import type { Reply, Request } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { escapeText } from './xml.ts';

/** The pages that people see who open an address of the service in a browser. */
export function createPages(contract: Contract, _namespace: string) {
  const page = (title: string, body: string): Reply => ({
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'private, max-age=0' },
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>${body}</html>`,
  });
  return {
    outside(request: Request): Reply {
      if (request.path === '/') {
        const groups = Object.keys(contract).map((name) => `<li><a href="api/${name}.asmx">${name}</a>`);
        return page('Columba', `<ul>${groups.join('')}</ul>`);
      }
      const addresses = Object.keys(contract).map((name) => `/api/${name}.asmx`);
      throw new Problem('unknown-operation', `There is nothing here. The service is at ${addresses.join(', ')}.`);
    },
    group(name: string, _request: Request): Reply {
      const rows = Object.entries(contract[name] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
      return page(name, `<ul>${rows.map(([op, { summary }]) => `<li>${op}: ${escapeText(summary)}`).join('')}</ul>`);
    },
  };
}
