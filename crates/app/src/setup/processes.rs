//! The processes below one, and the memory they take.

use std::collections::BTreeMap;
use std::fs;

/// Every process of this machine by its parent.
#[derive(Debug, Default)]
pub(crate) struct ProcessTree {
    children: BTreeMap<u32, Vec<u32>>,
}

impl ProcessTree {
    pub(crate) fn read() -> Self {
        let mut tree = Self::default();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(parent) = parent(pid) {
                tree.children.entry(parent).or_default().push(pid);
            }
        }
        tree
    }

    /// How many processes there are from this one down, and the bytes they take.
    pub(crate) fn below(&self, pid: u32) -> (usize, u64) {
        let (mut count, mut bytes) = (0, 0);
        let mut open = vec![pid];
        while let Some(pid) = open.pop() {
            count += 1;
            bytes += memory(pid).unwrap_or_default();
            open.extend(self.children.get(&pid).into_iter().flatten());
        }
        (count, bytes)
    }
}

/// The second field behind the command in `stat`, which may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let behind = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(behind + 1..)?).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// What it shares with others counts in parts; where that is not told, whole.
fn memory(pid: u32) -> Option<u64> {
    let line = |file: &str, name: &str| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    line("smaps_rollup", "Pss:")
        .or_else(|| line("status", "VmRSS:"))
        .map(|kilobytes| kilobytes << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_takes_memory() {
        let (count, bytes) = ProcessTree::read().below(std::process::id());
        assert!(count >= 1 && bytes > 1 << 20, "{count} {bytes}");
    }
}
