import { Argument, Command, type Option } from 'commander';

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

const offered = new WeakMap<Option, readonly string[]>();

/** Names the values of an option that checks them by itself, so that shells offer them. */
export function offering(option: Option, values: readonly string[]): Option {
  offered.set(option, values);
  return option;
}

const valuesOf = (option: Option): readonly string[] => option.argChoices ?? offered.get(option) ?? [];

interface Words {
  /** `account add`; empty for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
  /** The values of options that have a closed set of them. */
  readonly values: readonly { readonly flag: string; readonly values: readonly string[] }[];
}

function wordsOf(command: Command, path: readonly string[] = []): Words[] {
  const visible = command.options.filter((option) => !option.hidden);
  const options = visible.flatMap(({ long }) => long ?? []);
  const shown = command.commands.filter((each) => command.createHelp().visibleCommands(command).includes(each));
  const chosen = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const own = {
    path: path.join(' '),
    words: [...shown.map((each) => each.name()), ...chosen, ...options, '--help'],
    values: visible
      .map((option) => ({ flag: option.long ?? '', values: valuesOf(option) }))
      .filter(({ values }) => values.length > 0),
  };
  return [own, ...shown.flatMap((each) => wordsOf(each, [...path, each.name()]))];
}

const cases = (program: Command): string =>
  wordsOf(program)
    .map(({ path, words }) => `    '${path}') choices='${words.join(' ')}' ;;`)
    .join('\n');

const valueCases = (program: Command): string =>
  wordsOf(program)
    .flatMap(({ path, values }) =>
      values.map(({ flag, values: each }) => `    '${path} ${flag}') choices='${each.join(' ')}' ;;`),
    )
    .join('\n');

/** The functions of both shells: the words after a command, and the values of an option. */
const chooser = (program: Command): string => `_columba_choices() {
  case $1 in
${cases(program)}
    *) return 1 ;;
  esac
}
_columba_values() {
  case "$1 $2" in
${valueCases(program)}
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
  _columba_values "$typed" "\${COMP_WORDS[COMP_CWORD-1]}" ||
    _columba_values "\${typed%% *}" "\${COMP_WORDS[COMP_CWORD-1]}" ||
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
  _columba_values "$typed" "\${words[CURRENT-1]}" ||
    _columba_values "\${typed%% *}" "\${words[CURRENT-1]}" ||
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
  .flatMap(({ path, words, values }) => [
    `complete -c columba -f -n "__columba_at '${path}'" -a '${words.join(' ')}'`,
    ...values.map(
      ({ flag, values: each }) =>
        `complete -c columba -x -n "__columba_at '${path}'" -l ${flag.slice(2)} -a '${each.join(' ')}'`,
    ),
  ])
  .join('\n')}`;
