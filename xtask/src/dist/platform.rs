//! The platforms that programs are built for, in the words of everybody who ships them.

use std::fmt;

use crate::packages;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    Mac,
    Windows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processor {
    X86,
    Arm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) system: System,
    pub(super) processor: Processor,
}

impl Platform {
    /// Those that `dist` can build: static, so that one program fits every Linux.
    pub(super) const BUILT: [Self; 2] = [
        Self { system: System::Linux, processor: Processor::X86 },
        Self { system: System::Linux, processor: Processor::Arm },
    ];

    /// What a program's first bytes say it was built for.
    pub(super) fn of_program(program: &[u8]) -> Option<Self> {
        let short = |at: usize| {
            let bytes = program.get(at..at.checked_add(2)?)?;
            Some(u16::from_le_bytes(bytes.try_into().ok()?))
        };
        let long = |at: usize| {
            let bytes = program.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (system, processor) = match program.get(..4)? {
            b"\x7fELF" => (System::Linux, u32::from(short(18)?)),
            [0xcf, 0xfa, 0xed, 0xfe] => (System::Mac, long(4)?),
            [b'M', b'Z', ..] => {
                let head = usize::try_from(long(0x3c)?).ok()?;
                (System::Windows, u32::from(short(head.checked_add(4)?)?))
            }
            _ => return None,
        };
        // EM_X86_64 and EM_AARCH64, CPU_TYPE_*, IMAGE_FILE_MACHINE_*
        let processor = match processor {
            62 | 0x0100_0007 | 0x8664 => Processor::X86,
            183 | 0x0100_000c | 0xaa64 => Processor::Arm,
            _ => return None,
        };
        Some(Self { system, processor })
    }

    /// As the compiler calls it; on Linux with everything in the program.
    pub(super) fn target(self) -> &'static str {
        match (self.system, self.processor) {
            (System::Linux, Processor::X86) => "x86_64-unknown-linux-musl",
            (System::Linux, Processor::Arm) => "aarch64-unknown-linux-musl",
            (System::Mac, Processor::X86) => "x86_64-apple-darwin",
            (System::Mac, Processor::Arm) => "aarch64-apple-darwin",
            (System::Windows, Processor::X86) => "x86_64-pc-windows-gnu",
            (System::Windows, Processor::Arm) => "aarch64-pc-windows-gnullvm",
        }
    }

    /// As npm and Node call it.
    pub(super) fn node(self) -> (&'static str, &'static str) {
        let system = match self.system {
            System::Linux => "linux",
            System::Mac => "darwin",
            System::Windows => "win32",
        };
        let processor = match self.processor {
            Processor::X86 => "x64",
            Processor::Arm => "arm64",
        };
        (system, processor)
    }

    /// As Debian calls the processor.
    pub(super) fn debian(self) -> &'static str {
        match self.processor {
            Processor::X86 => "amd64",
            Processor::Arm => "arm64",
        }
    }

    /// As rpm, `uname` and the compiler call the processor.
    pub(super) fn processor(self) -> &'static str {
        match self.processor {
            Processor::X86 => "x86_64",
            Processor::Arm => "aarch64",
        }
    }

    /// What a file name of a program ends in.
    pub(super) fn ending(self) -> &'static str {
        if self.system == System::Windows { ".exe" } else { "" }
    }

    /// Is it this machine's own?
    pub(super) fn is_here(self) -> bool {
        cfg!(target_os = "linux")
            && self.system == System::Linux
            && self.processor() == std::env::consts::ARCH
    }

    /// What runs its programs here although they are of another processor.
    pub(super) fn emulator(self) -> Option<String> {
        let names = ["", "-static"].map(|end| format!("qemu-{}{end}", self.processor()));
        let found = names.into_iter().find(|name| packages::on_path(name).is_some());
        found.filter(|_| self.system == System::Linux)
    }
}

/// As files are called: `linux-x86_64`.
impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = match self.system {
            System::Linux => "linux",
            System::Mac => "macos",
            System::Windows => "windows",
        };
        write!(f, "{system}-{}", self.processor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_was_built_for() {
        let elf = |machine: u8| [&b"\x7fELF"[..], &[0; 14], &[machine, 0]].concat();
        let windows = [&b"MZ"[..], &[0; 58], &[64, 0, 0, 0], b"PE\0\0", &[0x64, 0x86]].concat();
        let mac = [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1];
        for (program, name) in [
            (elf(62), Some("linux-x86_64")),
            (elf(183), Some("linux-aarch64")),
            (elf(3), None),
            (windows, Some("windows-x86_64")),
            (mac.to_vec(), Some("macos-aarch64")),
            (b"#!/bin/sh".to_vec(), None),
            (b"MZ".to_vec(), None),
        ] {
            let found = Platform::of_program(&program).map(|platform| platform.to_string());
            assert_eq!(found.as_deref(), name);
        }
    }
}
