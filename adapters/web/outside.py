"""A request to our own address, as somebody outside makes it."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from core.checkup import sentence
from core.outside import Answered, Got, Silence, Unanswered


@dataclass(frozen=True, slots=True)
class Outside:
    """*session* is the caller's to close."""

    session: aiohttp.ClientSession

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Got:
        """What answers there, within *seconds*; core.outside.Post."""
        sent = {"User-Agent": "Gatepost doctor", **headers}
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.session.post(
                url, data=body, headers=sent, timeout=limit, allow_redirects=False
            ) as response:
                return Answered(
                    status=response.status,
                    kind=response.headers.get("content-type", "").lower(),
                    body=await response.text(errors="replace"),
                    location=response.headers.get("location", ""),
                )
        except TimeoutError as error:
            why, words = Silence.LATE, sentence(error)
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            why, words = Silence.UNPROVEN, sentence(error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why, words = Silence.AWAY, sentence(error)
        return Unanswered(why=why, words=words, seconds=seconds)
