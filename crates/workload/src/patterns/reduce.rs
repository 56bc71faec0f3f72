//! Reduce: the root ends with the sum of all ranks' buffers.

use super::binomial::{Binomial, Flow};

/// All of S goes up a binomial tree: a rank adds what its children send to its own before it sends the sum
/// on.
pub(crate) const TREE: Binomial = Binomial { collective: "reduce", flow: Flow::ToRoot };
