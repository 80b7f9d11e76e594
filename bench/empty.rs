//! A process that does nothing: the floor that every time of the benchmark is compared with.

fn main() {}
