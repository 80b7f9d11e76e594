#!/usr/bin/env bash
# The original's gate hook, after its documentation: PreToolUse (Bash), "block commits outside committing phase".
#
# The hook's JSON comes on the standard input. One jq reads it, one jq reads the phase; nothing else is started.
set -euo pipefail

mapfile -t hook < <(jq -r '.cwd, .tool_input.command // empty')
root=${hook[0]}
command=${hook[*]:1}

[[ $command =~ (^|[^[:alnum:]_-])git[[:space:]]([^\;\|\&]*[[:space:]])?commit([[:space:]]|$) ]] || exit 0

state=$root/.claude/.warp-drive-state.json
[[ -f $state ]] || exit 0

phase=$(jq -r '.phase' "$state")
if [[ $phase != committing ]]; then
  echo "git commit is only allowed during committing phase (current: $phase)" >&2
  exit 2
fi
