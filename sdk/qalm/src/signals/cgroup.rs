//! What the process is allowed: its cgroup's limits, version 2 or 1, the tightest
//! on the way up. Absent where there is no cgroup.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNT: &str = "/sys/fs/cgroup";

/// Where to read; another root in tests.
#[derive(Clone, Debug)]
pub(super) struct Cgroup {
    mount: PathBuf,
    /// `/proc/self/cgroup`.
    membership: String,
}

impl Cgroup {
    pub(super) fn of_this_process() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self { mount: PathBuf::from(MOUNT), membership }
    }

    /// CPUs that may be used, in whole and parts; `None`: no quota.
    pub(super) fn cpus(&self) -> Option<f64> {
        let v2 = self.tightest(None, |folder| quota_v2(&read(folder, "cpu.max")?));
        let v1 = || {
            self.tightest(Some("cpu"), |folder| {
                let quota: f64 = read(folder, "cpu.cfs_quota_us")?.trim().parse().ok()?;
                let period: f64 = read(folder, "cpu.cfs_period_us")?.trim().parse().ok()?;
                (quota > 0.0 && period > 0.0).then(|| quota / period)
            })
        };
        v2.or_else(v1)
    }

    /// Bytes of memory that may be used; `None`: no limit.
    pub(super) fn memory(&self) -> Option<f64> {
        let v2 = self.tightest(None, |folder| read(folder, "memory.max")?.trim().parse().ok());
        let v1 = || {
            let limit = |folder: &Path| {
                read(folder, "memory.limit_in_bytes")?
                    .trim()
                    .parse()
                    .ok()
                    .filter(|it| *it < NO_LIMIT)
            };
            self.tightest(Some("memory"), limit)
        };
        v2.or_else(v1)
    }

    /// The least limit of the process's own group and all above it.
    fn tightest(
        &self,
        controller: Option<&str>,
        limit: impl Fn(&Path) -> Option<f64>,
    ) -> Option<f64> {
        let group = self.group(controller)?;
        let root = match controller {
            Some(controller) => self.mount.join(controller),
            None => self.mount.clone(),
        };
        // In a container the group's path is often the host's, which is not
        // mounted here: what is mounted then is the root.
        let mut limits: Vec<f64> = Vec::new();
        for above in Path::new(group).ancestors() {
            let below = above.strip_prefix("/").unwrap_or(above);
            limits.extend(limit(&root.join(below)));
        }
        limits.into_iter().reduce(f64::min)
    }

    /// The group's path: of the unified hierarchy, or of that controller's.
    fn group(&self, controller: Option<&str>) -> Option<&str> {
        self.membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let is_it = match controller {
                None => controllers.is_empty(),
                Some(wanted) => controllers.split(',').any(|it| it == wanted),
            };
            is_it.then_some(path)
        })
    }
}

/// Version 1 says "no limit" with the greatest multiple of a page.
const NO_LIMIT: f64 = 9e18;

fn read(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok()
}

/// `max 100000` or `150000 100000`: microseconds in a period.
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(files: &[(&str, &str)], membership: &str) -> (tempfile::TempDir, Cgroup) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let cgroup = Cgroup { mount: root.path().to_path_buf(), membership: membership.to_owned() };
        (root, cgroup)
    }

    #[test]
    fn version_2_has_the_tightest_limit_on_the_way_up() {
        let files = [
            ("a/cpu.max", "150000 100000\n"),
            ("a/b/cpu.max", "max 100000\n"),
            ("a/memory.max", "max\n"),
            ("a/b/memory.max", "1048576\n"),
        ];
        let (_root, cgroup) = with(&files, "0::/a/b\n");
        assert_eq!(cgroup.cpus(), Some(1.5));
        assert_eq!(cgroup.memory(), Some(1_048_576.0));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let files = [
            ("cpu/d/cpu.cfs_quota_us", "50000\n"),
            ("cpu/d/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("memory/d/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let (_root, cgroup) = with(&files, "4:cpu,cpuacct:/d\n3:memory:/d\n");
        assert_eq!(cgroup.cpus(), Some(0.5));
        assert_eq!(cgroup.memory(), None);
    }

    #[test]
    fn a_containers_group_is_found_at_the_root_that_it_sees() {
        let (_root, cgroup) = with(&[("cpu.max", "200000 100000\n")], "0::/kubepods/pod7/c1\n");
        assert_eq!(cgroup.cpus(), Some(2.0));
    }

    #[test]
    fn without_a_cgroup_there_is_no_limit() {
        let (_root, cgroup) = with(&[], "");
        assert_eq!((cgroup.cpus(), cgroup.memory()), (None, None));
    }
}
