//! Whether the machine is virtual, and whether the process runs in a container.
//!
//! Neither can be proved from inside: what is recorded is the first sign found and where, or that none was seen.

use std::env;

use super::cpu;
use super::machine::{Machine, Reading};
use super::{FactStatus, fact};
use crate::environment::Fact;

const NONE_SEEN: &str = "none seen";
const CPU_INFO: &str = "/proc/cpuinfo";
const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
const PRODUCT: &str = "/sys/class/dmi/id/product_name";
const OWN_GROUPS: &str = "/proc/self/cgroup";

/// Words in the name of a vendor or product, and the hypervisor that they give away.
const PRODUCTS: &[(&str, &str)] = &[
    ("qemu", "qemu"),
    ("kvm", "kvm"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("xen", "xen"),
    ("hvm domu", "xen"),
    ("virtual machine", "hyper-v"),
    ("parallels", "parallels"),
    ("bhyve", "bhyve"),
    ("bochs", "bochs"),
    ("amazon ec2", "amazon"),
    ("google compute engine", "google"),
    ("openstack", "openstack"),
    ("droplet", "digitalocean"),
    ("hetzner", "hetzner"),
    ("apple virtualization", "apple"),
];

/// Container runtimes, as they name themselves in `container` and in the paths of control groups.
const RUNTIMES: &[(&str, &str)] = &[
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("podman", "podman"),
    ("lxc", "lxc"),
    ("systemd-nspawn", "systemd-nspawn"),
    ("machine.slice", "systemd-nspawn"),
    ("containerd", "containerd"),
    ("oci", "oci"),
];

pub(super) fn facts(machine: &Machine) -> Vec<Fact> {
    let (hypervisor, source) = hypervisor(machine);
    let (container, container_source) = container(machine, |name| env::var(name).ok());
    vec![
        fact("virtualization.hypervisor", hypervisor, source),
        fact("virtualization.vendor", machine.read(VENDOR), VENDOR),
        fact("virtualization.product", machine.read(PRODUCT), PRODUCT),
        fact("container", Ok(container), container_source),
    ]
}

/// The hypervisor and the sign that gave it away.
fn hypervisor(machine: &Machine) -> (Reading<&'static str>, &'static str) {
    let named = |path: &'static str| machine.find(path, product_hypervisor).map(|name| (name, path));
    if let Ok((name, path)) = named(PRODUCT).or_else(|_| named(VENDOR)) {
        return (Ok(name), path);
    }
    if machine.has("/proc/xen") || machine.has("/sys/hypervisor/type") {
        return (Ok("xen"), "/proc/xen, /sys/hypervisor/type");
    }
    if machine
        .find("/proc/sys/kernel/osrelease", |text| {
            text.to_lowercase().contains("microsoft").then_some(())
        })
        .is_ok()
    {
        return (Ok("wsl"), "/proc/sys/kernel/osrelease");
    }
    let clock = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    if machine
        .find(clock, |text| text.contains("kvm-clock").then_some(()))
        .is_ok()
    {
        return (Ok("kvm"), clock);
    }
    if machine.has("/proc/device-tree/hypervisor") {
        return (Ok("of an unknown kind"), "/proc/device-tree/hypervisor");
    }
    let flagged = machine.read(CPU_INFO).map(|text| cpu::is_virtual(&text));
    (
        flagged.map(|flagged| if flagged { "of an unknown kind" } else { NONE_SEEN }),
        CPU_INFO,
    )
}

fn product_hypervisor(product: &str) -> Option<&'static str> {
    first_match(PRODUCTS, &product.to_lowercase())
}

/// The container's runtime and the sign that gave it away.
fn container(machine: &Machine, variable: impl Fn(&str) -> Option<String>) -> (&'static str, &'static str) {
    if variable("KUBERNETES_SERVICE_HOST").is_some() {
        return ("kubernetes", "environment KUBERNETES_SERVICE_HOST");
    }
    if let Ok(runtime) = machine.find(OWN_GROUPS, |text| first_match(RUNTIMES, text)) {
        return (runtime, OWN_GROUPS);
    }
    for (file, runtime) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if machine.has(file) {
            return (runtime, file);
        }
    }
    if let Some(name) = variable("container").filter(|name| !name.is_empty()) {
        return (
            first_match(RUNTIMES, &name).unwrap_or("of an unknown kind"),
            "environment container",
        );
    }
    match machine.read("/run/systemd/container") {
        Ok(name) => (
            first_match(RUNTIMES, &name).unwrap_or("of an unknown kind"),
            "/run/systemd/container",
        ),
        Err(FactStatus::Denied) => (NONE_SEEN, "/run/systemd/container (denied) and others"),
        Err(_) => (
            NONE_SEEN,
            "/.dockerenv, /run/.containerenv, /proc/self/cgroup, environment",
        ),
    }
}

fn first_match(table: &[(&str, &'static str)], text: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(word, _)| text.contains(word))
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine_with(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::under(root.path());
        (root, machine)
    }

    #[test]
    fn products_give_their_hypervisor_away() {
        for (product, expected) in [
            ("Standard PC (Q35 + ICH9, 2009)", None),
            ("KVM Virtual Machine", Some("kvm")),
            ("VMware7,1", Some("vmware")),
            ("Virtual Machine", Some("hyper-v")),
            ("HVM domU", Some("xen")),
            ("ThinkPad X1 Carbon Gen 9", None),
        ] {
            assert_eq!(product_hypervisor(product), expected, "{product}");
        }
    }

    #[test]
    fn the_hypervisor_flag_alone_is_enough() {
        let (_root, machine) = machine_with(&[("proc/cpuinfo", "flags\t: fpu hypervisor\n")]);
        assert_eq!(hypervisor(&machine), (Ok("of an unknown kind"), CPU_INFO));
        let (_root, machine) = machine_with(&[("proc/cpuinfo", "flags\t: fpu\n")]);
        assert_eq!(hypervisor(&machine), (Ok(NONE_SEEN), CPU_INFO));
        let (_root, machine) = machine_with(&[]);
        assert_eq!(hypervisor(&machine), (Err(FactStatus::Absent), CPU_INFO));
    }

    #[test]
    fn containers_are_told_apart() {
        let nothing = |_: &str| None;
        let (_root, machine) = machine_with(&[("proc/self/cgroup", "0::/kubepods/burstable/pod1/docker-2\n")]);
        assert_eq!(container(&machine, nothing), ("kubernetes", OWN_GROUPS));
        let (_root, machine) = machine_with(&[("proc/self/cgroup", "0::/\n"), (".dockerenv", "")]);
        assert_eq!(container(&machine, nothing), ("docker", "/.dockerenv"));
        let (_root, machine) = machine_with(&[("run/.containerenv", "")]);
        assert_eq!(container(&machine, nothing), ("podman", "/run/.containerenv"));
        let (_root, machine) = machine_with(&[]);
        assert_eq!(
            container(&machine, |name| (name == "container").then(|| "lxc".to_owned())).0,
            "lxc"
        );
        assert_eq!(
            container(&machine, |name| (name == "container").then(|| "mine".to_owned())).0,
            "of an unknown kind"
        );
        assert_eq!(container(&machine, nothing).0, NONE_SEEN);
    }
}
