//! Environment variables and versions: names, syntax, what is ignored, what is refused.

use fabricbench_nccl::{
    Algorithm, Collective, Library, NicsPerGpu, PathType, Protocol, Settings, Version, VersionError,
};

fn set(name: &str, value: &str) -> Settings {
    let parsed = Settings::from_variables([(name, value)]).expect("an allowed value");
    assert!(parsed.ignored.is_empty(), "{name}");
    parsed.settings
}

fn refusal(name: &str, value: &str) -> String {
    Settings::from_variables([(name, value)]).expect_err("a bad value").to_string()
}

#[test]
fn without_variables_the_settings_are_the_default() {
    let parsed = Settings::from_variables([]).unwrap();
    assert_eq!(parsed.settings, Settings::default());
    assert!(parsed.ignored.is_empty());
}

#[test]
fn algorithms_by_collective() {
    let choices = set("NCCL_ALGO", "ring,tree;allreduce:tree").algorithms;
    assert_eq!(choices.allows(Collective::AllReduce, Algorithm::Ring), Some(false));
    assert_eq!(choices.allows(Collective::AllReduce, Algorithm::Tree), Some(true));
    assert_eq!(choices.allows(Collective::AllGather, Algorithm::Ring), Some(true));
    assert_eq!(choices.allows(Collective::AllGather, Algorithm::Nvls), Some(false));
    let only_broadcast = set("NCCL_ALGO", "broadcast:ring").algorithms;
    assert_eq!(only_broadcast.allows(Collective::AllReduce, Algorithm::Tree), None);
}

#[test]
fn a_caret_excludes() {
    let protocols = set("NCCL_PROTO", "^LL128;allreduce:LL128").protocols;
    assert_eq!(protocols.allows(Collective::AllGather, Protocol::Simple), Some(true));
    assert_eq!(protocols.allows(Collective::AllGather, Protocol::Ll128), Some(false));
    assert_eq!(protocols.allows(Collective::AllReduce, Protocol::Ll128), Some(true));
    assert_eq!(protocols.allows(Collective::AllReduce, Protocol::Ll), Some(false));
}

#[test]
fn bad_values_are_refused_with_the_allowed_ones() {
    for (name, value, message) in [
        (
            "NCCL_ALGO",
            "ring,hypercube",
            "NCCL_ALGO: found \"ring,hypercube\"; allowed: Tree, Ring, CollNetDirect",
        ),
        ("NCCL_ALGO", "ring;tree", "allowed: a collective in front of \"tree\", such as allreduce:tree"),
        ("NCCL_PROTO", "alltoall:LL", "Broadcast, Reduce, AllGather, ReduceScatter, AllReduce instead of"),
        ("NCCL_CROSS_NIC", "3", "NCCL_CROSS_NIC: found \"3\"; allowed: 0 to 2"),
        ("NCCL_MIN_NCHANNELS", "many", "allowed: 1 to 1024"),
        ("NCCL_P2P_LEVEL", "FAR", "LOC, NVL"),
        ("NCCL_NETDEVS_POLICY", "SOME", "AUTO, ALL or MAX:n"),
        ("NCCL_IB_HCA", "mlx5_0:first", "a number of a port"),
    ] {
        assert!(refusal(name, value).contains(message), "{}", refusal(name, value));
    }
}

#[test]
fn other_variables_are_listed_as_ignored() {
    let variables = [("NCCL_DEBUG", "INFO"), ("NCCL_IB_TC", "106"), ("NCCL_SOCKET_IFNAME", "eth0")];
    let parsed = Settings::from_variables(variables).unwrap();
    assert_eq!(parsed.ignored, ["NCCL_DEBUG", "NCCL_SOCKET_IFNAME"]);
    assert_eq!(parsed.settings.traffic_class, Some(106));
}

#[test]
fn numbers_are_read_as_c_reads_them() {
    assert_eq!(set("NCCL_BUFFSIZE", "0x400000").buffer_bytes, Some(4 << 20));
    assert_eq!(set("NCCL_BUFFSIZE", "010").buffer_bytes, Some(8));
    assert_eq!(set("NCCL_IB_TIMEOUT", "22").timeout_exponent, 22);
}

#[test]
fn levels_are_names_or_old_numbers() {
    assert_eq!(set("NCCL_P2P_LEVEL", "PHB").p2p_level, Some(PathType::Phb));
    assert_eq!(set("NCCL_NET_GDR_LEVEL", "2").gpu_direct_level, Some(PathType::Pxb));
    assert_eq!(set("NCCL_P2P_DISABLE", "1").p2p_level, Some(PathType::Loc));
    assert_eq!(set("NCCL_NETDEVS_POLICY", "max:2").nics_per_gpu, NicsPerGpu::Max(2));
}

#[test]
fn adapters_by_prefix_or_exactly() {
    let prefix = set("NCCL_IB_HCA", "mlx5_1").adapters.unwrap();
    assert!(prefix.allows("mlx5_1", 1) && prefix.allows("mlx5_10", 1) && !prefix.allows("mlx5_0", 1));
    let exact = set("NCCL_IB_HCA", "=mlx5_1:2,mlx5_3").adapters.unwrap();
    assert!(exact.allows("mlx5_1", 2) && exact.allows("mlx5_3", 1));
    assert!(!exact.allows("mlx5_1", 1) && !exact.allows("mlx5_10", 2));
    let excluded = set("NCCL_IB_HCA", "^=mlx5_2").adapters.unwrap();
    assert!(excluded.allows("mlx5_0", 1) && !excluded.allows("mlx5_2", 1));
}

#[test]
fn settings_survive_json() {
    let settings = set("NCCL_ALGO", "allreduce:ring");
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
    assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
}

#[test]
fn versions() {
    assert_eq!("2.30".parse::<Version>().unwrap(), Version::series(30));
    assert!("2.30.6".parse::<Version>().unwrap() < "2.30".parse().unwrap());
    assert_eq!("2.17".parse::<Version>(), Err(VersionError::Unknown(Version::series(17))));
    assert!(matches!("3.0".parse::<Version>(), Err(VersionError::Malformed(_))));
    assert_eq!(Library::Rccl.nccl(), Err(VersionError::Rccl));
    assert_eq!(Library::Nccl(Version::NEWEST).nccl(), Ok(Version::NEWEST));
}
