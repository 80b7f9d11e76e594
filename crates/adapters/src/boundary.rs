//! Points between the steps of a run, at which a test may let it crash.
//!
//! Whatever acts on the world does so inside [`around`]: there is then a point before the act and one after it. A test
//! watches the points of its own thread, counts them, and ends the work at one of them by a panic or by a signal. In a
//! release build there is nothing here.

#[cfg(debug_assertions)]
use std::cell::RefCell;

/// What is called at each point, with its name.
#[cfg(debug_assertions)]
type Watcher = Box<dyn FnMut(&str)>;

#[cfg(debug_assertions)]
thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Does something to the world, between two points of that name.
pub fn around<T>(name: &str, act: impl FnOnce() -> T) -> T {
    pass(name, "before");
    let done = act();
    pass(name, "after");
    done
}

#[cfg(debug_assertions)]
fn pass(name: &str, side: &str) {
    // A watcher may panic, so it is taken out while it is called.
    let Some(mut watcher) = WATCHER.take() else { return };
    watcher(&format!("{side} {name}"));
    WATCHER.set(Some(watcher));
}

#[cfg(not(debug_assertions))]
fn pass(_name: &str, _side: &str) {}

/// Calls `watcher` at every point that this thread passes from now on.
#[cfg(debug_assertions)]
pub fn watch(watcher: impl FnMut(&str) + 'static) {
    WATCHER.set(Some(Box::new(watcher)));
}

/// Stops watching.
#[cfg(debug_assertions)]
pub fn unwatch() {
    WATCHER.take();
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    #[test]
    fn an_act_has_a_point_before_and_one_after_it() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let noted = Rc::clone(&seen);
        watch(move |point| noted.borrow_mut().push(point.to_owned()));
        assert_eq!(around("commit", || 7), 7);
        unwatch();
        around("report", || ());
        assert_eq!(*seen.borrow(), ["before commit", "after commit"]);
    }
}
