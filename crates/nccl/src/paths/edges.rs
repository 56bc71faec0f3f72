//! Links of a system by their ends.

use crate::system::{Link, System};

/// Indices of links by their ends.
pub(crate) struct Edges {
    /// Indices of the links that leave a part.
    pub(super) leaving: Vec<Vec<usize>>,
    /// Index of the link in the opposite direction.
    pub(crate) reverse: Vec<usize>,
}

impl Edges {
    pub(crate) fn of(system: &System) -> Self {
        let links = system.links();
        let mut leaving = vec![Vec::new(); system.parts()];
        for (edge, link) in links.iter().enumerate() {
            leaving[system.index(link.from)].push(edge);
        }
        let reverse_of = |link: &Link| {
            let reverse = links
                .iter()
                .position(|other| (other.from, other.to, other.kind) == (link.to, link.from, link.kind));
            reverse.expect("`System::join` adds links in both directions")
        };
        Self { leaving, reverse: links.iter().map(reverse_of).collect() }
    }
}
