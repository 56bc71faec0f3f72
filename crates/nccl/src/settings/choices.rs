//! `NCCL_ALGO` and `NCCL_PROTO`: lists of elements, for all collectives or by collective.
//!
//! `ring,tree;allreduce:tree` is a list for all collectives, then one for a collective; `^` in front of a list
//! excludes its elements. Only the first list may lack a collective. Source: NCCL 2.30 `src/graph/tuning.cc`.

use crate::kinds::{Algorithm, Collective, Protocol};
use serde::{Deserialize, Serialize};

/// Elements that a variable allows, by collective. A collective without an entry is left at its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices<T> {
    allowed: Vec<(Collective, Vec<T>)>,
}

impl<T> Default for Choices<T> {
    fn default() -> Self {
        Self { allowed: Vec::new() }
    }
}

/// An element of a list: an algorithm or a protocol.
pub trait Element: Copy + PartialEq + 'static {
    /// All elements.
    fn all() -> &'static [Self];
    /// The name in the list, compared without case.
    fn name(self) -> &'static str;
}

impl Element for Algorithm {
    fn all() -> &'static [Self] {
        Self::ALL
    }
    fn name(self) -> &'static str {
        self.name()
    }
}

impl Element for Protocol {
    fn all() -> &'static [Self] {
        Self::ALL
    }
    fn name(self) -> &'static str {
        self.name()
    }
}

impl<T: Element> Choices<T> {
    /// Whether an element is allowed for a collective; none if the variable leaves it at its default.
    #[must_use]
    pub fn allows(&self, collective: Collective, element: T) -> Option<bool> {
        let (_, elements) = self.allowed.iter().find(|(of, _)| *of == collective)?;
        Some(elements.contains(&element))
    }

    /// Reads a value. The error names the allowed values.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut choices = Self::default();
        for (position, list) in text.split(';').filter(|list| !list.is_empty()).enumerate() {
            let (collectives, elements) = match list.split_once(':') {
                Some((name, elements)) => (vec![collective(name)?], elements),
                None if position == 0 => (Collective::ALL.to_vec(), list),
                None => return Err(format!("a collective in front of {list:?}, such as allreduce:{list}")),
            };
            let elements = parse_list(elements)?;
            choices.allowed.retain(|(of, _)| !collectives.contains(of));
            choices.allowed.extend(collectives.into_iter().map(|of| (of, elements.clone())));
        }
        Ok(choices)
    }
}

fn parse_list<T: Element>(text: &str) -> Result<Vec<T>, String> {
    let (excluded, names) = text.strip_prefix('^').map_or((false, text), |names| (true, names));
    let listed = names.split(',').map(|name| find(T::all(), T::name, name)).collect::<Result<Vec<T>, _>>()?;
    Ok(T::all().iter().copied().filter(|element| listed.contains(element) != excluded).collect())
}

fn collective(name: &str) -> Result<Collective, String> {
    find(Collective::ALL, Collective::name, name)
}

fn find<T: Copy>(all: &[T], name_of: fn(T) -> &'static str, name: &str) -> Result<T, String> {
    all.iter().copied().find(|&element| name_of(element).eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<&str> = all.iter().copied().map(name_of).collect();
        format!("{} instead of {name:?}", names.join(", "))
    })
}
