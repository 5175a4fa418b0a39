/**
 * HTML that is safe by construction: a template escapes every value that is not such HTML itself.
 */
export interface Html {
  readonly html: string;
}
type Content = Html | string | number | readonly Content[];

/**
 * A loop instead of a chain of array methods, because a page of a list has some thousand pieces.
 */
export function html(pieces: TemplateStringsArray, ...contents: Content[]): Html {
  let text = pieces[0] as string;
  for (let index = 0; index < contents.length; index += 1) {
    text += render(contents[index] as Content) + (pieces[index + 1] as string);
  }
  return { html: text };
}

const SPECIAL = /[&<>"']/;

function render(content: Content): string {
  if (typeof content === 'string') {
    if (!SPECIAL.test(content)) return content;
    return content.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  }
  if (typeof content === 'number') return String(content);
  return 'html' in content ? content.html : content.map(render).join('');
}

/** The pieces of a sentence or a list in words. */
export const joined = (pieces: readonly (Html | string)[], separator: string): Html =>
  html`${pieces.map((piece, index) => html`${index === 0 ? '' : separator}${piece}`)}`;
