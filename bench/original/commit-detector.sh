#!/usr/bin/env bash
# The original's commit detector, after its documentation: PostToolUse (Bash), "detect commit, advance".
#
# It goes by the text of the command. One jq reads the hook's JSON, one jq the phase; node makes the transition.
set -euo pipefail

mapfile -t hook < <(jq -r '.cwd, .tool_input.command // empty')
root=${hook[0]}
command=${hook[*]:1}

[[ $command =~ (^|[^[:alnum:]_-])git[[:space:]]([^\;\|\&]*[[:space:]])?commit([[:space:]]|$) ]] || exit 0

state=$root/.claude/.warp-drive-state.json
[[ -f $state && $(jq -r '.phase' "$state") == committing ]] || exit 0

exec node "${BASH_SOURCE[0]%/*}/state-machine.js" transition "$root" committed
