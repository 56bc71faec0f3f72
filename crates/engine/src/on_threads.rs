//! Independent work items, one thread each.

use std::thread;

/// Results of `make` for each of `parts`, in their order, one thread per part. A single part runs on the
/// calling thread.
///
/// # Panics
/// If `make` does.
pub fn on_threads<P, T>(parts: impl IntoIterator<Item = P>, make: impl Fn(P) -> T + Sync) -> Vec<T>
where
    P: Send,
    T: Send,
{
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let make = &make;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || make(part))).collect();
        let first = make(first);
        // Propagates a panic to the calling thread.
        let join = |made: thread::ScopedJoinHandle<'_, T>| {
            made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(first).chain(others.into_iter().map(join)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::on_threads;

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        assert_eq!(on_threads(0..5, |part| part * part), [0, 1, 4, 9, 16]);
        assert!(on_threads(std::iter::empty(), |part: u32| part).is_empty());
    }
}
