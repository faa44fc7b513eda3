//! What the profiles of a sandbox consist of: tables of paths, with a reason each.

/// Read by every walled-in server: programs, libraries, the settings of the system.
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc",
    "/nix",
    "/gnu",
    "/snap",
    "/home/linuxbrew",
    // Where the names of other machines are looked up: /etc/resolv.conf is a link to one of these.
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    // How many processors and how much memory there are.
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/filesystems",
    "/proc/sys",
    "/proc/vmstat",
    "/proc/devices",
];

/// Read under `strict` in place of `/etc`.
pub(super) const STRICT_SETTINGS: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/protocols",
    "/etc/services",
    "/etc/locale.conf",
    "/etc/mime.types",
    "/etc/fonts",
    "/etc/os-release",
];

/// Of which only the names can be read. Everything else about other processes is closed.
pub(super) const LISTED: &[&str] = &["/proc"];

/// Written and read by every one.
pub(super) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Secrets of the system: root reads them, and a server that runs as root would.
pub(super) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/krb5.keytab",
    "/etc/security/opasswd",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/netplan",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/apt/auth.conf",
    "/etc/apt/auth.conf.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/trunkline",
    "/etc/default/trunkline",
];

/// In the home directory: what runs programs, and the settings that it fails without.
pub(super) const RUNTIMES: &[&str] = &[
    ".nvm",
    ".volta",
    ".fnm",
    ".nodenv",
    ".asdf",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".bun",
    ".deno",
    ".cargo",
    ".rustup",
    "go",
    ".dotnet",
    ".npm-global",
    ".yarn",
    ".conda",
    "miniconda3",
    "miniforge3",
    "anaconda3",
    ".nix-profile",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/pipx",
    ".config/uv",
    ".config/pip",
    ".pip",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/node",
    // git ends where it may not read its settings.
    ".gitconfig",
    ".config/git",
];

/// … and the settings of those that load packages, which may hold the keys of a registry.
pub(super) const LAUNCHER_SETTINGS: &[&str] =
    &[".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pnpm", ".bunfig.toml"];

/// Programs that load other programs and keep them in a cache.
pub(super) const LAUNCHERS: &[&str] = &[
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "bunx",
    "bun",
    "uvx",
    "uv",
    "pipx",
    "deno",
    "npx-cli.js",
    "npm-cli.js",
];

/// Where they keep packages, by the variable that says so; each server has its own, because one that changes
/// a package in a common cache would run its code in another server.
pub(super) const CACHES: &[(&str, &str)] = &[
    ("npm_config_cache", "npm"),
    ("npm_config_store_dir", "pnpm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("UV_CACHE_DIR", "uv"),
    ("PIP_CACHE_DIR", "pip"),
    ("DENO_DIR", "deno"),
];

/// In the home directory: what is not given with a directory around it. Who names one of these in full gets it.
pub(super) const HOME_SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".gnupg",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".pypirc",
    ".npmrc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/op",
    ".config/1Password",
    ".config/rclone",
    ".config/hub",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Code/User/globalStorage",
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    // Written, they run at the next login.
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".config/autostart",
    ".config/systemd",
];
