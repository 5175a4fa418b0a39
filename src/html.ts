/**
 * HTML that is safe by construction: what a template is given is escaped, unless it is such HTML
 * itself.
 */
export interface Html {
  readonly html: string;
}
type Content = Html | string | number | readonly Content[];

export function html(pieces: TemplateStringsArray, ...contents: Content[]): Html {
  return {
    html: pieces
      .map((piece, index) => piece + (index < contents.length ? render(contents[index] as Content) : ''))
      .join(''),
  };
}

function render(content: Content): string {
  if (typeof content === 'string') return content.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  if (typeof content === 'number') return String(content);
  return 'html' in content ? content.html : content.map(render).join('');
}
