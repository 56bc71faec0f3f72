//! The same work on parts that have nothing to do with each other, each part on a thread of its own.

use std::thread;

/// What `make` gives for each of `parts`, in their order. An only part needs no other thread.
///
/// # Panics
/// When `make` does.
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
        // A panic goes on where it was asked for the work.
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
