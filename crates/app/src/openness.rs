//! Who may speak MCP without a token, as the command line says it: decided before anything starts.

/// What the command line says about who comes in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessFlags {
    pub(crate) is_platform: bool,
    pub(crate) is_demo: bool,
    /// `--open`
    pub(crate) open: bool,
    pub(crate) has_token: bool,
    /// A flag that says that requests come from elsewhere, for example through a proxy on this machine.
    pub(crate) reached: Option<&'static str>,
}

/// What a client without a token is on a loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    Closed,
    /// Whoever reaches the loopback address of this machine may use everything.
    Open,
}

impl AccessFlags {
    pub(crate) fn decide(self) -> Result<Openness, String> {
        match self {
            Self { open: true, has_token: true, .. } => {
                Err("--open lets clients in without a token, and a token is set\n\n\
                 Leave --open away, or take the token away (--token, TRUNKLINE_TOKEN)."
                    .to_owned())
            }
            Self { open: true, reached: Some(flag), .. } => Err(format!(
                "--open lets everybody in who reaches this machine's own address, and {flag} says that \
                 others do: a proxy would pass on every stranger's request as one of this machine\n\n\
                 Leave --open away: clients then show an API key, the admin token, or the one of \
                 TRUNKLINE_TOKEN (--token)."
            )),
            Self { is_platform: true, open: true, .. } => Ok(Openness::Open),
            // A demo has only its own servers, and is gone when it ends.
            Self { is_demo: true, has_token: false, reached: None, .. } => Ok(Openness::Open),
            Self { is_platform: true, .. } | Self { has_token: true, .. } => Ok(Openness::Closed),
            Self { reached: Some(flag), .. } => Err(format!(
                "{flag} says that others reach this, so clients have to show a token\n\n\
                 Set one with TRUNKLINE_TOKEN or --token (for example TRUNKLINE_TOKEN=$(openssl rand \
                 -hex 32)), or be a platform with API keys (--data-dir)."
            )),
            // One person's servers on one machine: the simple case.
            Self { reached: None, .. } => Ok(Openness::Open),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_on_this_machine_is_open() {
        let plain = AccessFlags::default();
        let platform = AccessFlags { is_platform: true, ..plain };
        let demo = AccessFlags { is_demo: true, ..platform };
        let reached = Some("--public-url");
        for (flags, expected) in [
            (plain, Some(Openness::Open)),
            (AccessFlags { open: true, ..plain }, Some(Openness::Open)),
            (AccessFlags { has_token: true, ..plain }, Some(Openness::Closed)),
            (AccessFlags { has_token: true, reached, ..plain }, Some(Openness::Closed)),
            (AccessFlags { reached, ..plain }, None),
            (AccessFlags { reached, open: true, ..plain }, None),
            (platform, Some(Openness::Closed)),
            (AccessFlags { reached, ..platform }, Some(Openness::Closed)),
            (AccessFlags { open: true, ..platform }, Some(Openness::Open)),
            (AccessFlags { open: true, reached, ..platform }, None),
            (AccessFlags { open: true, has_token: true, ..platform }, None),
            (demo, Some(Openness::Open)),
            (AccessFlags { reached, ..demo }, Some(Openness::Closed)),
            (AccessFlags { has_token: true, ..demo }, Some(Openness::Closed)),
            (AccessFlags { open: true, reached, ..demo }, None),
        ] {
            let decided = flags.decide();
            assert_eq!(decided.as_ref().ok().copied(), expected, "{flags:?}");
            assert!(decided.err().is_none_or(|words| words.contains("TRUNKLINE_TOKEN")));
        }
    }
}
