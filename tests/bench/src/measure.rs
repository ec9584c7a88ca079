//! Times of single calls, in rounds that take turns, so that a slow moment of the machine
//! hits every subject alike.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

/// Rounds of a run. Each subject has one share of each.
pub const ROUNDS: usize = 30;

/// Calls of one share that are not counted: caches, branch predictors, lazy pages.
const WARM_UP: usize = 20;

/// Something to measure.
pub struct Subject<'a> {
    /// What it is called in the table.
    pub name: &'static str,
    /// Counted calls in one round.
    pub calls: usize,
    /// One call.
    pub call: Box<dyn FnMut() -> BoxFuture<'a, anyhow::Result<()>> + 'a>,
}

/// The times of one subject, sorted.
pub struct Times {
    /// The subject's name.
    pub name: &'static str,
    sorted: Vec<Duration>,
}

impl Times {
    /// The time that this part (0 to 1) of the calls did not exceed, in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let at = (last as f64 * part).round() as usize;
        self.sorted.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }

    /// How many calls were counted.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }
}

/// Measures all subjects in turns. The first call that fails ends the run: a number for
/// something that didn't happen is none.
pub async fn run(mut subjects: Vec<Subject<'_>>) -> anyhow::Result<Vec<Times>> {
    let mut times: Vec<Vec<Duration>> = subjects.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        eprint!("\rround {} of {ROUNDS}", round + 1);
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            for call in 0..WARM_UP.min(subject.calls) + subject.calls {
                let begun = Instant::now();
                (subject.call)().await?;
                if call >= WARM_UP.min(subject.calls) {
                    times.push(begun.elapsed());
                }
            }
        }
    }
    eprintln!();
    let sorted = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times
    };
    Ok(subjects
        .iter()
        .zip(times)
        .map(|(subject, times)| Times {
            name: subject.name,
            sorted: sorted(times),
        })
        .collect())
}
