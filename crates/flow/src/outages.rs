//! Which links are up when, and by which routes switches choose.

use paths::{Failures, Reroute};
use spec::{FabricSpec, SpecError};
use std::sync::Arc;
use topology::{Graph, Routes};
use units::{Instant, LinkId, Rate};

/// What fails in a run and is repaired: all of it is known beforehand.
pub(crate) struct Outages {
    failures: Failures,
    reroutes: Vec<Reroute>,
    /// The routes before any failure.
    first: Arc<Routes>,
    /// When anything changes, in order of time.
    times: Vec<Instant>,
}

impl Outages {
    /// Those of a fabric; none if nothing fails.
    ///
    /// # Errors
    /// When one names what there is not, or what is in that state already.
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

    /// When anything changes, in order of time.
    pub(crate) fn times(&self) -> &[Instant] {
        &self.times
    }

    /// The changes from a time on, itself left out.
    pub(crate) fn times_after(&self, at: Instant) -> &[Instant] {
        &self.times[self.times.partition_point(|&time| time <= at)..]
    }

    /// The routes at a time.
    pub(crate) fn routes_at(&self, at: Instant) -> &Arc<Routes> {
        let past = self.reroutes.partition_point(|reroute| reroute.at <= at);
        past.checked_sub(1).map_or(&self.first, |last| &self.reroutes[last].routes)
    }

    /// Those before any failure, and all that follow.
    pub(crate) fn all_routes(&self) -> Vec<Arc<Routes>> {
        let later = self.reroutes.iter().map(|reroute| &reroute.routes);
        std::iter::once(&self.first).chain(later).cloned().collect()
    }

    /// Whether a directed link carries frames just after a time.
    pub(crate) fn is_up(&self, link: u32, at: Instant) -> bool {
        self.failures.is_up(LinkId(link / 2), at)
    }

    /// The links that have another rate from a time on.
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
