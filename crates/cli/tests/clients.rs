//! The same issue with every agent: the real clients, each against a scripted model and behind walls, and programs.

/// Makes a test of each line: its name, and what it does with which client.
macro_rules! with_each_client {
    ($($test:ident: $does:ident($client:ident $(, $more:expr)?);)+) => {
        $(#[test]
        fn $test() {
            $does(Client::$client() $(, $more)?);
        })+
    };
}

mod again;
mod background;
mod client;
mod coder;
mod compacted;
mod denied;
mod first_turn;
mod killed;
mod notices;
mod processes;
mod project;
mod resumed;
mod same;
mod servers;
mod spend;
