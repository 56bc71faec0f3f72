//! VLAN tag.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::ethernet::vlan::{TAG_BYTES, Tag};

fuzz_target!(|bytes: &[u8]| check_inverse(bytes, TAG_BYTES, Tag::parse, |tag, buffer| tag.emit(buffer)));
