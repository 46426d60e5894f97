/**
 * Completion scripts of the shells. Each passes the words up to the cursor to `berth complete`, which prints
 * a line `VALUE<TAB>DESCRIPTION` for each candidate, and the line `:files` where a file is meant.
 */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const BASH = String.raw`# Completion of berth for bash: source <(berth completion bash)
_berth() {
  local value description
  COMPREPLY=()
  while IFS=$'\t' read -r value description; do
    if [[ $value == :files ]]; then compopt -o default; else COMPREPLY+=("$value"); fi
  done < <(berth complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _berth berth
`;

const ZSH = String.raw`#compdef berth
# Completion of berth for zsh: source <(berth completion zsh), after compinit
_berth() {
  local value description files
  local -a values shown
  while IFS=$'\t' read -r value description; do
    if [[ $value == :files ]]; then files=yes; continue; fi
    values+=("$value")
    shown+=("$value\${description:+  -- $description}")
  done < <(berth complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)
  (( $#values )) && compadd -l -d shown -a values
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _berth ]]; then _berth; else compdef _berth berth; fi
`;

const FISH = `# Completion of berth for fish: berth completion fish | source
function __berth_complete
    set -l words (commandline -opc)
    for line in (berth complete -- $words[2..] "$(commandline -ct)" 2>/dev/null </dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete --command berth --no-files --arguments '(__berth_complete)'
`;

/** In a template `\\${` stands for what a shell reads as `${`. */
const unescaped = (script: string): string => script.replaceAll('\\${', '${');

export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: unescaped(BASH),
  zsh: unescaped(ZSH),
  fish: unescaped(FISH),
};
