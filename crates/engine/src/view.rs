//! Views: what is shown of a run, folded from its journal. They decide nothing and can be made again.

mod adopt;
mod asked;
mod cost;
mod explain;
mod head;
mod inject;
mod log;
mod progress;
mod reanchor;
mod second_look;
mod state_file;
mod status;

pub use adopt::{AdoptError, Adopted, adopt};
pub use asked::{AnswerCommand, Asked, asked};
pub use cost::{CapUse, Cost, render_cost};
pub use explain::{Explanation, Possible, Used, exceeded, explain};
pub use head::{Head, OPERATIONS, Permission};
pub use inject::{reports, standing};
pub use log::{LogRow, render_log};
pub use progress::{PROGRESS_FILE, PROGRESS_MARK, progress};
pub use reanchor::reanchor;
pub use second_look::{in_words, second_look};
pub use state_file::{StateFileView, session_usage, state_file, state_json};
pub use status::{Owned, Status, render_status, status};
