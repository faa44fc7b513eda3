//! What the scopes of an OAuth token mean: the one table from scopes to roles.

use super::role::Role;

/// The highest role of a token's scopes counts; scopes that are not here mean nothing to us.
/// `admin:read` is for tokens of the REST API alone; it is no more than `mcp:read`, for whatever
/// reads more than that (the audit) is the operator's.
pub const SCOPES: [(&str, Role); 5] = [
    ("mcp:read", Role::Viewer),
    ("mcp:call", Role::Caller),
    ("admin:read", Role::Viewer),
    ("admin:write", Role::Operator),
    ("admin:full", Role::Admin),
];

/// `None` if the scopes allow nothing here.
pub fn role_of<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Option<Role> {
    let known = |scope| SCOPES.iter().find(|(name, _)| *name == scope);
    scopes.into_iter().filter_map(known).map(|(_, role)| *role).max()
}

/// The scope to ask an issuer for to get this role.
pub fn scope_for(role: Role) -> &'static str {
    match role {
        Role::Viewer => "mcp:read",
        Role::Caller => "mcp:call",
        Role::Operator => "admin:write",
        Role::Admin => "admin:full",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_scope_counts() {
        for (scopes, role) in [
            (&[][..], None),
            (&["openid", "email"], None),
            (&["mcp:read"], Some(Role::Viewer)),
            (&["admin:read"], Some(Role::Viewer)),
            (&["mcp:call"], Some(Role::Caller)),
            (&["mcp:call", "mcp:read", "openid"], Some(Role::Caller)),
            (&["admin:write"], Some(Role::Operator)),
            (&["mcp:read", "admin:full"], Some(Role::Admin)),
            (&["MCP:CALL"], None),
            (&["mcp:call "], None),
            (&["mcp:*"], None),
            (&["admin"], None),
        ] {
            assert_eq!(role_of(scopes.iter().copied()), role, "{scopes:?}");
        }
    }

    #[test]
    fn each_role_can_be_asked_for() {
        for role in Role::ALL {
            assert_eq!(role_of([scope_for(role)]), Some(role));
        }
    }
}
