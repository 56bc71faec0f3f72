//! State of links and routes over time.

use paths::{Failures, Reroute};
use spec::{FabricSpec, SpecError};
use std::sync::Arc;
use topology::{Graph, Routes};
use units::{Instant, LinkId, Rate};

/// Failures and repairs of a run; all of them are known in advance.
pub(crate) struct Outages {
    failures: Failures,
    reroutes: Vec<Reroute>,
    /// The routes before any failure.
    first: Arc<Routes>,
    /// Times of all changes, in order.
    times: Vec<Instant>,
}

impl Outages {
    /// Outages of a fabric; `None` if nothing fails.
    ///
    /// # Errors
    /// When a failure names something that does not exist, or that is in that state already.
    pub(crate) fn new(
        fabric: &FabricSpec,
        graph: &Graph,
        routes: &Arc<Routes>,
    ) -> Result<Option<Self>, SpecError> {
        if fabric.failures.is_empty() {
            return Ok(None);
        }
        let failures = Failures::new(fabric, graph)?;
        let reroutes: Vec<Reroute> = failures.reroutes(graph).to_vec();
        let mut times: Vec<Instant> =
            failures.times().chain(reroutes.iter().map(|reroute| reroute.at)).collect();
        times.sort_unstable();
        times.dedup();
        Ok(Some(Self { failures, reroutes, first: Arc::clone(routes), times }))
    }

    /// Times of all changes, in order.
    pub(crate) fn times(&self) -> &[Instant] {
        &self.times
    }

    /// Times of changes after `at`.
    pub(crate) fn times_after(&self, at: Instant) -> &[Instant] {
        &self.times[self.times.partition_point(|&time| time <= at)..]
    }

    /// The routes at a time.
    pub(crate) fn routes_at(&self, at: Instant) -> &Arc<Routes> {
        let past = self.reroutes.partition_point(|reroute| reroute.at <= at);
        past.checked_sub(1).map_or(&self.first, |last| &self.reroutes[last].routes)
    }

    /// The routes before any failure, and all later ones.
    pub(crate) fn all_routes(&self) -> Vec<Arc<Routes>> {
        let later = self.reroutes.iter().map(|reroute| &reroute.routes);
        std::iter::once(&self.first).chain(later).cloned().collect()
    }

    /// Whether a directed link is up just after a time.
    pub(crate) fn is_up(&self, link: u32, at: Instant) -> bool {
        self.failures.is_up(LinkId(link / 2), at)
    }

    /// Links whose rate changes at `at`, with their new rates.
    pub(crate) fn rates_at(&self, at: Instant) -> impl Iterator<Item = (LinkId, Rate)> + '_ {
        self.failures.changed_links().flat_map(move |link| {
            let changes = self.failures.of_link(link).iter().filter(move |change| change.at == at);
            changes.map(move |change| (link, change.rate))
        })
    }

    pub(crate) const fn failures(&self) -> &Failures {
        &self.failures
    }
}
