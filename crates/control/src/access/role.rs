//! Roles, the things one can ask for, and the one table that says which role may ask for what.

use std::fmt::{self, Display, Formatter};

/// What somebody may do. Each role may do everything the one before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Looks at servers, tools and how they do.
    Viewer,
    /// Calls tools, over REST and over MCP.
    Caller,
    /// Runs the platform: servers that are reached over the network, logins, the audit log.
    Operator,
    /// Everything, including what gives others power: keys, and commands on this machine.
    Admin,
}

/// The table of actions: what each is called and the least role that may do it.
macro_rules! actions {
    ($($least:ident { $($(#[$about:meta])* $action:ident = $name:literal,)* })*) => {
        /// Everything the API and the front can be asked to do. A route names one of these or says
        /// that it is open to all.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $($($(#[$about])* $action,)*)*
        }

        impl Action {
            pub const ALL: [Self; [$($($name),*),*].len()] = [$($(Self::$action),*),*];

            pub const fn least_role(self) -> Role {
                match self {
                    $($(Self::$action)|* => Role::$least,)*
                }
            }

            /// As it stands in the audit log and in problems.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$action => $name,)*)*
                }
            }
        }
    };
}

actions! {
    Viewer {
        /// Who am I, and what may I do?
        ReadSelf = "read-self",
        ReadOpenApi = "read-openapi",
        ReadServers = "read-servers",
        ReadTools = "read-tools",
        ReadHealth = "read-health",
        ReadMetrics = "read-metrics",
        ReadEvents = "read-events",
        ReadSkills = "read-skills",
        Search = "search",
    }
    Caller {
        /// Speak MCP: `/mcp`, `/sse` and `/messages`.
        UseMcp = "use-mcp",
        CallTool = "call-tool",
    }
    Operator {
        RegisterServer = "register-server",
        EditServer = "edit-server",
        DeleteServer = "delete-server",
        Connect = "connect",
        Disconnect = "disconnect",
        /// Grant Trunkline access to a server that wants OAuth.
        Login = "login",
        /// Take it back.
        Logout = "logout",
        EditSkills = "edit-skills",
        /// Look at definitions of servers that have changed, approve and reject them.
        ReviewDefinitions = "review-definitions",
        ReadAudit = "read-audit",
        /// Names of secrets, and who uses them; values are shown to nobody.
        ReadSecrets = "read-secrets",
        /// Who is connected.
        ReadClients = "read-clients",
        /// What commands write to their stderr: it is not meant for whoever calls their tools.
        ReadStderr = "read-stderr",
        /// What this Trunkline runs with.
        ReadSettings = "read-settings",
        /// The policies, and why one decides as it does.
        ReadPolicies = "read-policies",
    }
    Admin {
        /// Register a server that is a command on this machine, or change what such a server runs.
        /// Wanted on top of `RegisterServer` or `EditServer`.
        RegisterStdio = "register-stdio",
        /// Have a secret or a variable of the environment sent to a server, by referring to it.
        /// Wanted on top of `RegisterServer` or `EditServer`.
        ReferToSecrets = "refer-to-secrets",
        ManageKeys = "manage-keys",
        /// Put and remove secrets that any server may refer to.
        ManageSecrets = "manage-secrets",
        /// Say who may use what.
        ManagePolicies = "manage-policies",
    }
}

/// May somebody with this role do this?
pub fn allows(role: Role, action: Action) -> bool {
    role >= action.least_role()
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Caller, Self::Operator, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Caller => "caller",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// As `name` spells it; nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Written as cells, apart from the code's table, so that a change of either is seen.
    #[test]
    fn every_cell_of_role_and_action() {
        let cells = [
            // action                  viewer caller operator admin
            (Action::ReadSelf, [true, true, true, true]),
            (Action::ReadOpenApi, [true, true, true, true]),
            (Action::ReadServers, [true, true, true, true]),
            (Action::ReadTools, [true, true, true, true]),
            (Action::ReadHealth, [true, true, true, true]),
            (Action::ReadMetrics, [true, true, true, true]),
            (Action::ReadEvents, [true, true, true, true]),
            (Action::ReadSkills, [true, true, true, true]),
            (Action::Search, [true, true, true, true]),
            (Action::UseMcp, [false, true, true, true]),
            (Action::CallTool, [false, true, true, true]),
            (Action::RegisterServer, [false, false, true, true]),
            (Action::EditServer, [false, false, true, true]),
            (Action::DeleteServer, [false, false, true, true]),
            (Action::Connect, [false, false, true, true]),
            (Action::Disconnect, [false, false, true, true]),
            (Action::Login, [false, false, true, true]),
            (Action::Logout, [false, false, true, true]),
            (Action::EditSkills, [false, false, true, true]),
            (Action::ReviewDefinitions, [false, false, true, true]),
            (Action::ReadAudit, [false, false, true, true]),
            (Action::ReadSecrets, [false, false, true, true]),
            (Action::ReadClients, [false, false, true, true]),
            (Action::ReadStderr, [false, false, true, true]),
            (Action::ReadSettings, [false, false, true, true]),
            (Action::ReadPolicies, [false, false, true, true]),
            (Action::RegisterStdio, [false, false, false, true]),
            (Action::ReferToSecrets, [false, false, false, true]),
            (Action::ManageKeys, [false, false, false, true]),
            (Action::ManageSecrets, [false, false, false, true]),
            (Action::ManagePolicies, [false, false, false, true]),
        ];
        assert_eq!(cells.map(|(action, _)| action), Action::ALL, "no action is left out");
        for (action, expected) in cells {
            assert_eq!(Role::ALL.map(|role| allows(role, action)), expected, "{action}");
        }
    }

    #[test]
    fn names_are_distinct_and_lead_back() {
        let actions: HashSet<_> = Action::ALL.into_iter().map(Action::name).collect();
        assert_eq!(actions.len(), Action::ALL.len());
        for role in Role::ALL {
            assert_eq!(Role::named(role.name()), Some(role));
        }
        for other in ["", "Admin", "admin ", "root", "viewer,admin"] {
            assert_eq!(Role::named(other), None, "{other:?}");
        }
    }
}
