//! Map of link names to links: names of both nodes, with an index for parallel links.

use std::collections::BTreeMap;
use topology::Graph;
use units::{LinkId, NodeId};

/// Map from names to links: a link has the names of its two nodes in either order, and those with its index
/// among parallel links.
#[derive(Default)]
pub struct LinkNames {
    links: BTreeMap<String, Vec<LinkId>>,
}

impl LinkNames {
    /// Names of all links of a graph.
    pub fn of(graph: &Graph) -> Self {
        let mut links: BTreeMap<String, Vec<LinkId>> = BTreeMap::new();
        for (index, link) in graph.links.iter().enumerate() {
            let id = LinkId(index as u32);
            let name = |node: NodeId| graph.node(node).name.as_str();
            let [from, to] = link.ends.map(|end| name(end.node));
            for pair in [format!("{from}-{to}"), format!("{to}-{from}")] {
                let parallel = links.entry(pair.clone()).or_default();
                parallel.push(id);
                let index = parallel.len() - 1;
                links.insert(format!("{pair}:{index}"), vec![id]);
            }
        }
        Self { links }
    }

    /// A name for each link of a graph that no other has: with its index if there are parallel ones.
    pub fn unique(graph: &Graph) -> Vec<String> {
        let names = Self::of(graph);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let of_link = graph.links.iter().map(|link| {
            let [from, to] = link.ends.map(|end| graph.node(end.node).name.as_str());
            let name = format!("{from}-{to}");
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            if names.links[&name].len() == 1 { name } else { format!("{name}:{}", *count - 1) }
        });
        of_link.collect()
    }

    /// Links with that name.
    pub fn find(&self, name: &str) -> Option<&[LinkId]> {
        self.links.get(name).map(Vec::as_slice)
    }

    /// Text with examples of valid names.
    pub fn allowed(&self) -> String {
        let some: Vec<&str> = self.links.keys().rev().take(4).map(String::as_str).collect();
        format!("a link by its two nodes, such as {}", some.join(", "))
    }
}
