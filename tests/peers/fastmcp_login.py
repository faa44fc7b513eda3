"""A FastMCP server with its own authorization server (that of the Python SDK): python fastmcp_login.py PORT

Its tokens live a few seconds, so that they have to be renewed.
"""

import sys
import time

from fastmcp import FastMCP
from fastmcp.server.auth.providers import in_memory
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 10


class Provider(in_memory.InMemoryOAuthProvider):
    renewals = 0
    revocations = 0

    async def load_access_token(self, token):
        # The base class forgets the refresh token, too, of an access token that is shown too late. On a busy machine
        # seconds pass between the client's look at its clock and this one.
        held = self.access_tokens.get(token)
        if held and held.expires_at is not None and held.expires_at < time.time():
            return None
        return await super().load_access_token(token)

    async def exchange_refresh_token(self, *args, **kwargs):
        renewed = await super().exchange_refresh_token(*args, **kwargs)
        self.renewals += 1
        return renewed

    async def revoke_token(self, token):
        await super().revoke_token(token)
        self.revocations += 1


port = int(sys.argv[1])
provider = Provider(
    base_url=f"http://127.0.0.1:{port}",
    client_registration_options=ClientRegistrationOptions(
        enabled=True, valid_scopes=["read"], default_scopes=["read"]
    ),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["read"],
)
server = FastMCP("far", auth=provider)


@server.tool
def known() -> dict:
    """Who has registered, and how often a token was renewed and taken back."""
    clients = [client.token_endpoint_auth_method for client in provider.clients.values()]
    return {"clients": clients, "renewals": provider.renewals, "revocations": provider.revocations}


server.run(transport="http", port=port, show_banner=False)
