//! Graph of switches, without hosts: neighbours, connected components, breadth-first search.

use crate::Graph;
use std::ops::Range;
use units::{LinkId, NodeId};

/// Distance of a switch that the search has not reached.
const UNREACHED: u32 = u32::MAX;

/// A port of a switch connected to another switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    /// Index of the other switch.
    pub(super) switch: u32,
    /// Port number of this switch.
    pub(super) port: u16,
}

/// Switches by index (switch `s` is node `first_node + s`), and the links between them as compressed rows.
pub(super) struct Switches {
    first_node: u32,
    /// The neighbours of switch `s` are `neighbours[starts[s]..starts[s + 1]]`.
    starts: Vec<u32>,
    /// Sorted by switch, then by port.
    neighbours: Vec<Neighbour>,
    /// Connected component of each switch.
    components: Vec<u32>,
}

impl Switches {
    pub(super) fn of(graph: &Graph, live: impl Fn(LinkId) -> bool) -> Self {
        let first = graph.hosts();
        let (mut starts, mut neighbours) = (vec![0], Vec::new());
        for node in &graph.nodes[first..] {
            let leads_on = |port: &crate::Port| port.peer.index() >= first && live(port.link);
            let to_switches = node.ports.iter().enumerate().filter(|(_, port)| leads_on(port));
            neighbours.extend(to_switches.map(|(number, port)| Neighbour {
                switch: (port.peer.index() - first) as u32,
                port: number as u16,
            }));
            starts.push(neighbours.len() as u32);
        }
        let mut switches = Self { first_node: first as u32, starts, neighbours, components: Vec::new() };
        switches.components = switches.find_components();
        switches
    }

    /// Node of switch 0.
    pub(super) fn first_node(&self) -> u32 {
        self.first_node
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Index of a switch node.
    pub(super) fn index_of(&self, node: NodeId) -> usize {
        (node.0 - self.first_node) as usize
    }

    pub(super) fn neighbours(&self, switch: usize) -> &[Neighbour] {
        let range: Range<usize> = self.starts[switch] as usize..self.starts[switch + 1] as usize;
        &self.neighbours[range]
    }

    /// Connected component of a switch; there are paths exactly within a component.
    pub(super) fn component(&self, switch: usize) -> u32 {
        self.components[switch]
    }

    pub(super) fn component_count(&self) -> usize {
        self.components.iter().max().map_or(0, |&last| last as usize + 1)
    }

    fn find_components(&self) -> Vec<u32> {
        let mut components = vec![UNREACHED; self.count()];
        let mut search = Search::new(self.count());
        let mut count = 0;
        for switch in 0..self.count() {
            if components[switch] == UNREACHED {
                search.run(self, switch);
                search.order().iter().for_each(|&reached| components[reached as usize] = count);
                count += 1;
            }
        }
        components
    }
}

/// Breadth-first search with reusable buffers.
pub(super) struct Search {
    distances: Vec<u32>,
    order: Vec<u32>,
}

impl Search {
    pub(super) fn new(switches: usize) -> Self {
        Self { distances: vec![UNREACHED; switches], order: Vec::with_capacity(switches) }
    }

    /// Computes the distance of every switch from `root`, in hops.
    pub(super) fn run(&mut self, switches: &Switches, root: usize) {
        self.forget();
        self.distances[root] = 0;
        self.order.push(root as u32);
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            self.visit(switches, switch as usize);
            done += 1;
        }
    }

    fn forget(&mut self) {
        for &reached in &self.order {
            self.distances[reached as usize] = UNREACHED;
        }
        self.order.clear();
    }

    fn visit(&mut self, switches: &Switches, switch: usize) {
        let next = self.distances[switch] + 1;
        for neighbour in switches.neighbours(switch) {
            let distance = &mut self.distances[neighbour.switch as usize];
            if *distance == UNREACHED {
                *distance = next;
                self.order.push(neighbour.switch);
            }
        }
    }

    /// The switches reached, nearest first, starting with the root.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Ports of a reached `switch` that are one hop closer to the root.
    pub(super) fn ports_nearer(&self, switches: &Switches, switch: usize, ports: &mut Vec<u16>) {
        let here = self.distances[switch];
        ports.clear();
        let nearer = |neighbour: &&Neighbour| self.distances[neighbour.switch as usize] < here;
        ports.extend(switches.neighbours(switch).iter().filter(nearer).map(|neighbour| neighbour.port));
    }
}
