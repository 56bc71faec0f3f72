//! Paths of the hardware: a breadth-first search from each destination, against the direction of traffic.

use super::edges::Edges;
use super::{Path, PathType, Paths};
use crate::bandwidth::Bandwidth;
use crate::system::{Link, LinkKind, Node, System};

/// Most links before a GPU that forwards between NVLinks.
const NVB_LINKS_MAX: usize = 1;

impl Paths {
    pub(super) fn find_all(&mut self, system: &System) {
        let edges = Edges::of(system);
        for destination in system.destinations() {
            self.find_to(system, &edges, destination);
        }
    }

    fn find_to(&mut self, system: &System, edges: &Edges, destination: Node) {
        *self.path_mut(system, destination, destination) =
            Path { kind: PathType::Loc, bandwidth: Bandwidth::LOCAL, links: Vec::new(), proxy: None };
        let mut frontier = vec![destination];
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for &node in &frontier {
                for &edge in &edges.leaving[system.index(node)] {
                    let before = self.path(system, node, destination);
                    let link = &system.links()[edge];
                    if node != destination && !forwards(node, link, before) {
                        continue;
                    }
                    let candidate = Path {
                        kind: before.kind.max(step_type(node, link, before)),
                        bandwidth: before.bandwidth.min(link.bandwidth),
                        links: [&[edges.reverse[edge]], before.links.as_slice()].concat(),
                        proxy: None,
                    };
                    if is_better(&candidate, self.path(system, link.to, destination)) {
                        *self.path_mut(system, link.to, destination) = candidate;
                        if !next.contains(&link.to) {
                            next.push(link.to);
                        }
                    }
                }
            }
            frontier = next;
        }
    }
}

/// Whether a node passes traffic of a link on to the rest of a path. A GPU does so only between NVLinks of
/// other GPUs.
fn forwards(node: Node, link: &Link, before: &Path) -> bool {
    match node {
        Node::Gpu(_) => {
            link.kind == LinkKind::NvLink
                && matches!(link.to, Node::Gpu(_))
                && before.links.len() <= NVB_LINKS_MAX
        }
        _ => true,
    }
}

fn step_type(node: Node, link: &Link, before: &Path) -> PathType {
    match link.kind {
        LinkKind::NvLink => {
            let over_gpu = matches!(node, Node::Gpu(_)) && before.kind == PathType::Nvl;
            if over_gpu { PathType::Nvb } else { PathType::Nvl }
        }
        LinkKind::C2c => PathType::C2c,
        LinkKind::Pcie => match (node, link.to) {
            (Node::Cpu(_), _) | (_, Node::Cpu(_)) => PathType::Phb,
            (Node::PciSwitch(_), Node::PciSwitch(_)) => PathType::Pxb,
            _ => PathType::Pix,
        },
        LinkKind::Sockets => PathType::Sys,
        LinkKind::Port => PathType::Loc,
    }
}

fn is_better(candidate: &Path, current: &Path) -> bool {
    let rank = |path: &Path| (path.kind, std::cmp::Reverse(path.bandwidth), path.links.len());
    rank(candidate) < rank(current)
}
