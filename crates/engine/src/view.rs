//! Views: what is shown of a run, folded from its journal. They decide nothing and can be made again.

mod adopt;
mod explain;
mod head;
mod inject;
mod log;
mod progress;
mod reanchor;
mod state_file;
mod status;

pub use adopt::{AdoptError, Adopted, adopt};
pub use explain::{Explanation, Possible, explain};
pub use head::{Head, OPERATIONS, Permission};
pub use inject::inject;
pub use log::{LogRow, render_log};
pub use progress::{PROGRESS_FILE, PROGRESS_MARK, progress};
pub use reanchor::reanchor;
pub use state_file::{StateFileView, state_file, state_json};
pub use status::{Owned, Status, render_status, status};
