//! How much a model usually writes, for what a request is expected to use.

/// How many numbers of tokens are told apart: each is twice the one before.
const STEPS: usize = 41;

/// How often answers had which length, in powers of two. It can be added up in any order.
#[derive(Clone, Debug)]
pub(super) struct Outputs([u64; STEPS]);

impl Default for Outputs {
    fn default() -> Self {
        Self([0; STEPS])
    }
}

impl Outputs {
    pub(super) fn add(&mut self, output: u64) {
        self.0[step(output)] += 1;
    }

    pub(super) fn remove(&mut self, output: u64) {
        let count = &mut self.0[step(output)];
        *count = count.saturating_sub(1);
    }

    /// Returns the power of two that nine of ten answers do not pass; none if there are no answers.
    pub(super) fn typical<'a>(all: impl Iterator<Item = &'a Self>) -> Option<u64> {
        let sum = all.fold([0; STEPS], |mut sum: [u64; STEPS], one| {
            sum.iter_mut().zip(one.0).for_each(|(sum, count)| *sum += count);
            sum
        });
        let count: u64 = sum.iter().sum();
        let enough = (count * 9).div_ceil(10);
        let mut seen = 0;
        let found = sum.iter().position(|count| {
            seen += count;
            seen >= enough
        });
        found.filter(|_| count > 0).map(|step| 1 << step)
    }
}

/// Returns the step that a number of tokens is on: the first power of two that is not less.
fn step(output: u64) -> usize {
    let step = output.checked_next_power_of_two().map_or(STEPS, |power| power.trailing_zeros() as usize);
    step.min(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_answers_are_no_longer_than_the_typical_one() {
        let mut outputs = Outputs::default();
        assert_eq!(Outputs::typical([&outputs].into_iter()), None);
        (0..9).for_each(|_| outputs.add(1000));
        outputs.add(30_000);
        assert_eq!(Outputs::typical([&outputs].into_iter()), Some(1024));
        outputs.add(30_000);
        assert_eq!(Outputs::typical([&outputs].into_iter()), Some(32_768));
        outputs.remove(30_000);
        assert_eq!(Outputs::typical([&outputs].into_iter()), Some(1024));
        for odd in [0, 1, u64::MAX] {
            outputs.add(odd);
        }
    }
}
