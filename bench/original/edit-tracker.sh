#!/usr/bin/env bash
# The original's edit tracker, after its documentation: PostToolUse (Edit|Write), "count edits of a file in a phase".
#
# One jq reads the hook's JSON; the state file has one owner, the state machine, so node counts.
set -euo pipefail

mapfile -t hook < <(jq -r '.cwd, .tool_input.file_path // empty')
root=${hook[0]}
file=${hook[1]:-}

[[ -n $file && -f $root/.claude/.warp-drive-state.json ]] || exit 0

exec node "${BASH_SOURCE[0]%/*}/state-machine.js" edit "$root" "$file"
