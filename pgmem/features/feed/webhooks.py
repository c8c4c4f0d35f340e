"""Changes to an address of the operator's, signed as Standard Webhooks says (standardwebhooks.com, version 1.0.0).

The address comes from the settings of the process alone, so no tenant can make this server call one. A change
is sent with its kind, id and time, and without its content. Deliveries are in the order of the feed; one that
fails is tried again, and those behind it wait. The cursor is kept in the store, so another run goes on; a
receiver that gets a message twice knows it by its id.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import random
import time
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime

import httpx2

from pgmem.calls.following import follow_pages
from pgmem.calls.methods import Verbs
from pgmem.errors import CursorLost, InvalidArgument, PgmemError, summary
from pgmem.features.feed.peers import StorePeer
from pgmem.models import Change
from pgmem.settings import Settings

log = logging.getLogger("pgmem")

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 600.0
_TIMEOUT_S = 15.0
_MOST_ANSWER_BYTES = 65_536
_SECRET_BYTES = 24, 64  # as the specification has it


def key_of(secret: str) -> bytes:
    """Return the key of a secret.

    Raises:
        InvalidArgument: it is not `whsec_` and 24 to 64 bytes in base64.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith("whsec_") or not _SECRET_BYTES[0] <= len(key) <= _SECRET_BYTES[1]:
        raise InvalidArgument(
            "PGMEM_WEBHOOK_SECRET must be whsec_ and 24 to 64 random bytes in base64; "
            "openssl rand -base64 32 makes them."
        )
    return key


def require_secret(settings: Settings) -> bytes:
    """Return the key that signs messages.

    Raises:
        InvalidArgument: the settings have none, or a secret of another form.
    """
    if settings.webhook_secret is None:
        raise InvalidArgument("PGMEM_WEBHOOK_URL needs PGMEM_WEBHOOK_SECRET, with which messages are signed.")
    return key_of(settings.webhook_secret.get_secret_value())


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message: HMAC-SHA256 of its id, time (seconds) and body."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


async def deliver(memory: Verbs, settings: Settings) -> None:
    """Send every change that the caller sees to the address of the settings, until it is cancelled or answers 410.

    Raises:
        InvalidArgument: the settings have an address without a secret, or a secret of another form.
    """
    if settings.webhook_url is None:
        return
    key = require_secret(settings)
    name = "webhook " + hashlib.sha256(settings.webhook_url.encode()).hexdigest()[:16]
    after = (await memory.known_peer(name)).pushed or "now"
    async with httpx2.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=False) as client:
        while True:
            try:
                async with aclosing(follow_pages(memory, after)) as pages:
                    async for page in pages:
                        for change in page.changes:
                            if not await _sent(client, settings.webhook_url, key, change):
                                return
                        after = page.cursor
                        if page.changes or page.more:
                            await StorePeer(memory).apply([], peer=name, pushed=after)
            except CursorLost as error:
                log.warning("the webhook goes on from now: %s", summary(error))
                after = "now"
            except PgmemError as error:
                log.warning("the webhook waits: %s", summary(error))
                await asyncio.sleep(_FIRST_WAIT_S)


async def _sent(client: httpx2.AsyncClient, address: str, key: bytes, change: Change) -> bool:
    """Send a change until it is accepted; False if the receiver wants no more (410)."""
    message = {
        "type": f"{change.subject}.{change.kind}",
        "timestamp": change.at.astimezone(UTC).isoformat(),
        "data": {name: value for name, value in asdict(change).items() if name != "record"},
    }
    body = json.dumps(message, default=str, ensure_ascii=False).encode()
    identity = f"msg_{change.cursor}"
    wait = _FIRST_WAIT_S
    while True:
        now = int(time.time())
        headers = {
            "content-type": "application/json",
            "webhook-id": identity,
            "webhook-timestamp": str(now),
            "webhook-signature": signature(key, identity, now, body),
        }
        try:
            async with client.stream("POST", address, content=body, headers=headers) as answer:
                status = answer.status_code
                read = 0
                async for part in answer.aiter_raw():  # a connection whose answer is read whole is used again
                    if (read := read + len(part)) > _MOST_ANSWER_BYTES:
                        break
        except httpx2.HTTPError as error:
            said = type(error).__name__
        else:
            if 200 <= status < 300:
                return True
            if status == 410:
                log.warning(
                    "the webhook ends: its receiver answered 410 at %s", datetime.now(UTC).isoformat()
                )
                return False
            said = f"status {status}"
        log.warning("the webhook is tried again in %.0f s: %s", wait, said)
        await asyncio.sleep(wait * random.uniform(0.8, 1.2))
        wait = min(wait * 2, _LONGEST_WAIT_S)
