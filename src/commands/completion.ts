import { Argument, Command } from 'commander';

/** `columba completion bash`: a script for the shell, made from the commands and their options. */

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export function completionCommand(program: Command, print: (line: string) => void): Command {
  return new Command('completion')
    .description('print a script that completes commands in the shell')
    .addArgument(new Argument('<SHELL>', 'bash, zsh or fish').choices([...SHELLS]))
    .addHelpText(
      'after',
      '\nExample:\n  source <(columba completion bash)\n  source <(columba completion zsh)\n  columba completion fish | source',
    )
    .action((shell: (typeof SHELLS)[number]) => print({ bash, zsh, fish }[shell](program)));
}

interface Words {
  /** `account add`; empty for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
}

function wordsOf(command: Command, path: readonly string[] = []): Words[] {
  const options = command.options.filter((option) => !option.hidden).flatMap(({ long }) => long ?? []);
  const shown = command.commands.filter((each) => command.createHelp().visibleCommands(command).includes(each));
  const own = { path: path.join(' '), words: [...shown.map((each) => each.name()), ...options, '--help'] };
  return [own, ...shown.flatMap((each) => wordsOf(each, [...path, each.name()]))];
}

const cases = (program: Command): string =>
  wordsOf(program)
    .map(({ path, words }) => `    '${path}') choices='${words.join(' ')}' ;;`)
    .join('\n');

/** The function that both shells use: the words that may follow a command. */
const chooser = (program: Command): string => `_columba_choices() {
  case $1 in
${cases(program)}
    *) return 1 ;;
  esac
}`;

const bash = (program: Command): string => `# columba: completion for bash
${chooser(program)}
_columba() {
  local typed='' choices='' word index
  for ((index = 1; index < COMP_CWORD && index < 3; index++)); do
    word=\${COMP_WORDS[index]}
    case $word in -*) break ;; esac
    typed="\${typed:+$typed }$word"
  done
  _columba_choices "$typed" || _columba_choices "\${typed%% *}"
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _columba columba`;

const zsh = (program: Command): string => `#compdef columba
${chooser(program)}
_columba() {
  local typed='' choices='' word
  local -i index
  for ((index = 2; index < CURRENT && index < 4; index++)); do
    word=\${words[index]}
    [[ $word == -* ]] && break
    typed="\${typed:+$typed }$word"
  done
  _columba_choices "$typed" || _columba_choices "\${typed%% *}"
  compadd -- \${=choices}
}
compdef _columba columba`;

/** A condition for each command: the words before the cursor begin with its path. */
const fish = (program: Command): string => `# columba: completion for fish
function __columba_at
  set -l typed
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and break
    set -a typed $word
  end
  test (count $typed) -gt 2; and set typed $typed[1..2]
  set -l at (string join ' ' -- $typed)
  test "$at" = "$argv[1]"; and return 0
  contains -- "$at" $__columba_paths; and return 1
  test "$typed[1]" = "$argv[1]"
end
set -g __columba_paths ${wordsOf(program)
  .map(({ path }) => `'${path}'`)
  .join(' ')}
${wordsOf(program)
  .map(({ path, words }) => `complete -c columba -f -n "__columba_at '${path}'" -a '${words.join(' ')}'`)
  .join('\n')}`;
