"""Ids as the system draws them. Rules never call this: what a move needs is drawn before it."""

import base64
import secrets

import uuid_utils


class SystemIds:
    """UUIDv7 for rows, so that they sort by birth; 128 secret bits for what a button carries."""

    def new(self) -> str:
        """A UUIDv7, as text."""
        return str(uuid_utils.uuid7())

    def nonce(self) -> str:
        """128 unpredictable bits as 22 characters of A-Za-z0-9_-."""
        return base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
