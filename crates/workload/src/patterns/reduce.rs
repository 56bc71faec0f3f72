//! Reduce: the root ends with the sum of all ranks' buffers.

use super::binomial::{Binomial, Flow};

/// All of S is sent up a binomial tree: a rank adds the data of its children to its own before it sends the
/// sum.
pub(crate) const TREE: Binomial = Binomial { flow: Flow::ToRoot };
