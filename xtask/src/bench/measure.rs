//! Starting programs and taking the time, all rows in turn.

use std::{fs, time::Instant};

use super::sandbox::Call;
use crate::run::{Result, say};

/// How often each row is run before its times count.
const WARM_UP: usize = 3;

/// One thing that is measured.
pub(super) struct Row<'a> {
    pub(super) name: String,
    /// How long the history is that it works on.
    pub(super) history: String,
    pub(super) call: Call,
    /// The exit code that is the right answer.
    pub(super) exit: i32,
    /// It is measured in every round of this number.
    pub(super) every: usize,
    /// Whether the same work takes the same instructions every time. With a compiler at run time it does not.
    pub(super) is_exact: bool,
    pub(super) prepare: Prepare<'a>,
    /// Why it cannot be measured.
    pub(super) missing: Option<String>,
    pub(super) samples: Samples,
    pub(super) counts: Counts,
}

/// What has to be done before a run, off the clock.
pub(super) enum Prepare<'a> {
    Nothing,
    Again { every: usize, act: Box<dyn Fn() -> Result + 'a> },
}

/// What was measured.
#[derive(Default)]
pub(super) struct Samples {
    runs: usize,
    micros: Vec<f64>,
    faults: Vec<f64>,
}

/// What was counted, as far as there are tools for it.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) instructions: Option<u64>,
    pub(super) system_calls: Option<u64>,
}

impl Row<'_> {
    pub(super) fn new(name: impl Into<String>, history: impl Into<String>, call: Call, exit: i32) -> Self {
        Self {
            name: name.into(),
            history: history.into(),
            call,
            exit,
            every: 1,
            is_exact: true,
            prepare: Prepare::Nothing,
            missing: None,
            samples: Samples::default(),
            counts: Counts::default(),
        }
    }

    /// Does what has to be done before the next run.
    pub(super) fn prepare(&mut self) -> Result {
        if let Prepare::Again { every, act } = &self.prepare
            && self.samples.runs.is_multiple_of(*every)
        {
            act()?;
        }
        self.samples.runs += 1;
        Ok(())
    }

    /// Runs it once and returns microseconds and page faults.
    fn run(&mut self) -> Result<(f64, f64)> {
        self.prepare()?;
        let mut command = self.call.command()?;
        let failed = |error| format!("{} could not be run: {error}", self.name);
        let faults = faults_of_children();
        let started = Instant::now();
        let status = command.spawn().and_then(|mut child| child.wait()).map_err(failed)?;
        let elapsed = started.elapsed();
        if status.code() != Some(self.exit) {
            return Err(format!(
                "{} ({}) ended with {status}, not with {}",
                self.name, self.history, self.exit
            ));
        }
        Ok((elapsed.as_secs_f64() * 1e6, (faults_of_children() - faults) as f64))
    }
}

/// Runs every row a few times, so that files are in memory and wrong answers come first.
pub(super) fn warm_up(rows: &mut [Row<'_>]) -> Result {
    say("warming up");
    for row in rows.iter_mut().filter(|row| row.missing.is_none()) {
        for _ in 0..WARM_UP {
            row.run()?;
        }
    }
    Ok(())
}

/// Measures all rows, in each round in another order so that no row always follows the same one.
pub(super) fn rounds(rows: &mut [Row<'_>], rounds: usize) -> Result {
    say(&format!("measuring {rounds} rounds"));
    let mut shuffle = Shuffle(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        for index in shuffle.order(rows.len()) {
            let row = &mut rows[index];
            // Slow rows are spread over the rounds.
            if row.missing.is_some() || (round + index) % row.every != 0 {
                continue;
            }
            let (micros, faults) = row.run()?;
            row.samples.micros.push(micros);
            row.samples.faults.push(faults);
        }
    }
    Ok(())
}

impl Samples {
    pub(super) fn count(&self) -> usize {
        self.micros.len()
    }

    /// Returns the time below which a part of all times lies, in microseconds.
    pub(super) fn micros(&self, part: f64) -> Option<f64> {
        quantile(&self.micros, part)
    }

    /// Returns the median number of page faults.
    pub(super) fn faults(&self) -> Option<u64> {
        quantile(&self.faults, 0.5).filter(|faults| *faults > 0.0).map(|faults| faults.round() as u64)
    }
}

fn quantile(samples: &[f64], part: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * part).round() as usize).copied()
}

/// Returns the minor page faults of all children that were waited for; zero where nobody counts them.
fn faults_of_children() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything; fields are counted from behind it.
    let after_name = stat.rfind(')').map(|end| &stat[end + 1..]).unwrap_or_default();
    after_name.split_ascii_whitespace().nth(8).and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// A plain generator of orders: the same in every run of the benchmark.
struct Shuffle(u64);

impl Shuffle {
    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (1..count).rev() {
            order.swap(end, self.below(end + 1));
        }
        order
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("it is below a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_every_row_once() {
        let mut shuffle = Shuffle(1);
        for count in 0..20 {
            let mut order = shuffle.order(count);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn quantiles_are_samples() {
        let samples = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!([0.0, 0.5, 1.0].map(|part| quantile(&samples, part)), [Some(1.0), Some(3.0), Some(5.0)]);
        assert_eq!(quantile(&[], 0.5), None);
    }
}
