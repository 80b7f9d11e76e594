#!/usr/bin/env bash
# The original's transition, after its documentation: the slash command calls the state machine from a shell.
#
#   transition.sh ROOT EVENT
set -euo pipefail

exec node "${BASH_SOURCE[0]%/*}/state-machine.js" transition "$1" "$2"
