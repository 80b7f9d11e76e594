//! Bounds that the first process inside sets for itself and for all that it starts; only a tighter one can follow.

use std::ffi::OsString;

use crate::process::Bounds;

/// Sets limits, then becomes the program. A limit that was tighter before stays. When memory runs out, the kernel is to end
/// what is in here first. Shells differ in the letter for processes.
const STAGE: &str = r#"ulimit -c 0 2>/dev/null
[ "$1" = 0 ] || ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null
[ "$2" = 0 ] || ulimit -f "$2" 2>/dev/null
{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
shift 2; exec "$@""#;
/// The unit in which a POSIX shell counts the size of files.
const BLOCK: u64 = 512;

/// Returns what stands before the program.
///
/// The limit of processes is set inside, where a user namespace has a count of its own: outside, all that the person runs
/// would count too. The kernel does not hold root to it; a control group does, where there is one.
pub(super) fn stage(bounds: Bounds) -> [OsString; 6] {
    let blocks = bounds.file.div_ceil(BLOCK);
    ["sh", "-c", STAGE, "sh", &bounds.processes.to_string(), &blocks.to_string()].map(OsString::from)
}
