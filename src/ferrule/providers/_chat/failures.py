"""What went wrong at the vendor, as errors of the runtime."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from ...types.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from .._json import joined, loads
from .._retry_after import retry_after_s

LONGEST_TEXT = 600
"""Characters of a vendor's own text that enter an error."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|context.{0,12}(length|window|size)|maximum context|prompt is too long|too many tokens"
    r"|request too large|exceeds? the (available|model).{0,20}context",
    re.IGNORECASE,
)
_BUSY = re.compile(r"overload|unavailable|server_error|internal|api_error|timeout|busy|try again", re.IGNORECASE)
_LIMITED = re.compile(r"rate.?limit|too many requests|throttl", re.IGNORECASE)
_UNPAID = re.compile(
    r"insufficient_quota|billing|payment|credit balance|insufficient.{0,10}(credit|funds)", re.IGNORECASE
)
_REFUSED_KEY = re.compile(r"authenticat|invalid.{0,5}api.?key|permission_(error|denied)|unauthori[sz]ed", re.IGNORECASE)
_INVALID = re.compile(r"invalid|bad.?request|not.?found|unsupported|unprocessable", re.IGNORECASE)
_VALUE = re.compile(
    r"maximum|minimum|must be|expected a value|too (large|small|big|long|high|low)|between|greater|less than|above|below"
    r"|exceed|out of range",
    re.IGNORECASE,
)
"""Texts about a parameter's value: the operator's number is wrong, and leaving it out would hide that."""


@dataclass(frozen=True, slots=True)
class Report:
    """A vendor's error report, as far as it could be read."""

    text: str = ""
    kind: str = ""
    code: str = ""
    param: str = ""
    status: int = 0

    @property
    def all(self) -> str:
        """Everything in it that may name the error."""
        return f"{self.kind} {self.code} {self.text}"

    @property
    def shown(self) -> str:
        """The report for people."""
        name = self.kind or self.code
        return f"{name}: {self.text}" if name and name not in self.text else self.text


def read_report(body: object) -> Report:
    """Read an error report in any of its usual forms: ``{"error": {...}}``, ``{"error": "..."}``, ``{"detail": ...}``.

    >>> read_report({"error": {"type": "overloaded_error", "message": "try later", "code": 529}}).status
    529
    """
    if isinstance(body, str):
        return Report(text=body)
    if isinstance(body, list):  # some servers wrap the report in a list
        body = next((entry for entry in body if isinstance(entry, dict)), {})
    if not isinstance(body, dict):
        return Report()
    inner = body.get("error")
    if isinstance(inner, dict | str) and inner:
        return read_report(inner)
    text = body.get("message") or body.get("detail") or body.get("msg") or ""
    code = body.get("code")
    return Report(
        text=text if isinstance(text, str) else str(text),
        kind=_word(body.get("type")) or _word(body.get("status")),
        code=_word(code),
        param=_word(body.get("param")),
        status=next((n for n in (code, body.get("status")) if type(n) is int and 400 <= n < 600), 0),
    )


def _word(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one provider.

    Attributes:
        name: ``<adapter>.<alias>``.
        model: For hints.
        secrets: Strings that never enter an error, although the vendor may repeat them.
    """

    name: str
    model: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def scrub(self, text: str) -> str:
        """Take the secrets out of a vendor's text, then shorten it."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        text = " ".join(joined(text).split())
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."

    def broken(self, why: str) -> StreamBroken:
        """Make the error of an answer that did not end properly."""
        return StreamBroken(f"{self.name}: {self.scrub(why)}")

    def no_api(self, what: str) -> BadRequest:
        """Make the error of an address behind which there is no model API."""
        return BadRequest(f"{self.name}: {what}", hint="check base_url: it usually ends in /v1")

    def in_answer(self, error: object) -> ProviderError:
        """Make the error for a report inside an answer whose status was 200."""
        report = read_report(error)
        said = f"{self.name}: the answer was ended by an error: {self.scrub(report.shown) or 'no reason given'}"
        if report.status:
            return self._by_status(report.status, report, said, None)
        kinds = f"{report.kind} {report.code}".strip() or report.text
        if _OVERFLOW.search(report.all):
            return self._overflow(said)
        if _LIMITED.search(kinds):
            return RateLimited(said, retry_after_s=None)
        if _BUSY.search(kinds):
            return Overloaded(said)
        if _REFUSED_KEY.search(kinds):
            return self._refused_key(said)
        if _INVALID.search(kinds):
            return BadRequest(said)
        return StreamBroken(said)

    def of_status(self, status: int, headers: Mapping[str, str], body: bytes, *, now_s: float) -> ProviderError:
        """Make the error for an answer whose status is not 200.

        Args:
            status: The HTTP status.
            headers: Names in lower case.
            body: As received.
            now_s: Seconds since 1970, to read a date in ``Retry-After``.
        """
        report = parse_report(body)
        said = f"{self.name}: HTTP {status}"
        if report.shown:
            said += f": {self.scrub(report.shown)}"
        return self._by_status(status, report, said, retry_after_s(headers, now_s=now_s))

    def _by_status(self, status: int, report: Report, said: str, wait_s: float | None) -> ProviderError:
        if status < 400:
            return self.no_api(f"HTTP {status}: the server answers with something else than a completion")
        if status in (401, 403):
            return self._refused_key(said)
        if status == 402 or (status == 429 and _UNPAID.search(report.all)):
            return BadRequest(said, hint="the account has no credit left; check its billing, or use another provider")
        if status == 429:
            return RateLimited(said, retry_after_s=wait_s)
        if status >= 500 or status in (408, 409, 425):
            return self._overflow(said) if "context_length_exceeded" in report.code else Overloaded(said)
        if status == 413 or _OVERFLOW.search(report.all):
            return self._overflow(said)
        if status in (404, 405):
            return BadRequest(said, hint=f"check that the model {self.model!r} exists and that base_url is right")
        return BadRequest(said)

    def _refused_key(self, said: str) -> AuthenticationFailed:
        of_environment = self.name.endswith(".environment")  # then there is no table of that name
        where = "OPENAI_API_KEY in the environment" if of_environment else f"the api_key of [providers.{self.name}]"
        return AuthenticationFailed(said, hint=f"check {where}")

    def _overflow(self, said: str) -> ContextOverflow:
        return ContextOverflow(said, hint="shorten the conversation, the instructions or the list of tools")


def parse_report(body: bytes) -> Report:
    """Read the body of a failed request; a page of HTML says nothing that helps."""
    try:
        return read_report(loads(body))
    except ValueError:
        text = body[: 4 * LONGEST_TEXT].decode("utf-8", "replace").strip()
        return Report() if text.startswith("<") else Report(text=text)


def refused_parameters(body: bytes, sent: Collection[str]) -> set[str]:
    """Return which of the sent optional parameters a 400 refuses as such.

    A report about a parameter's value names none: the value is then wrong,
    and sending the request without it would not be what was asked for.
    """
    report = parse_report(body)
    if _VALUE.search(report.text) or _OVERFLOW.search(report.all):
        return set()
    if report.param in sent:
        return {report.param}
    return {name for name in sent if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", report.text)}


def secrets_in(url: str, *keys: str | None) -> tuple[str, ...]:
    """Return the secrets of a provider, longest first: keys, and the user part and query values of its address."""
    parts = urlsplit(url)
    found = {*(k for k in keys if k), *(value for _, value in parse_qsl(parts.query))}
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    found |= {password, unquote(password)} if password else {user, unquote(user)}
    return tuple(sorted((s for s in found if len(s) >= 4), key=len, reverse=True))
