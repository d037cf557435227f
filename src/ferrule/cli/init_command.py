"""``ferrule init``: from an empty home to a config that answers."""

from __future__ import annotations

import asyncio
import os

import click

from ..app.first_run import (
    Choice,
    Offer,
    models_of,
    offers,
    preferred,
    refuse_a_second,
    typed_offer,
    write_first_config,
)
from ..config.layout import layout
from ..types.errors import FerruleError, UsageError
from .printable import printable
from .terminal import someone_is_there

EPILOG = """\b
Examples:
  ferrule init
  ferrule init --yes
  ferrule init --yes --model qwen3:8b

A key that you type goes into the vault; one in the environment stays there.
Nothing is written before the server has answered."""

MOST_SHOWN = 12


@click.command(epilog=EPILOG)
@click.option("--yes", is_flag=True, help="Take the first thing found, without asking.")
@click.option("--model", default="", help="The model, instead of the one suggested.")
def init(yes: bool, model: str) -> None:
    """Write the first config: find keys and model servers, test one, and use it.

    Looks for OPENAI_API_KEY and OPENAI_BASE_URL, and for Ollama, llama.cpp,
    LM Studio and vLLM on their usual ports of this machine.
    """
    place = layout(os.environ)
    refuse_a_second(place)
    if not yes and not someone_is_there():
        raise UsageError("there is no terminal to ask on", hint="ferrule init --yes takes the first thing found")
    choice = _chosen(asyncio.run(offers(os.environ)), yes=yes, model=model)
    click.echo(printable(write_first_config(place, os.environ, choice)))
    click.echo('to begin: ferrule chat, or ferrule run "What files are in this folder?"')


def _chosen(found: list[Offer], *, yes: bool, model: str) -> Choice:
    if yes:
        offer = found[0]
        click.echo(printable(f"taking {offer.label}"))
        models = asyncio.run(models_of(offer, "", os.environ))
        return Choice(offer=offer, model=_model(offer, models, model, yes=True))
    while True:
        offer = _asked_offer(found)
        key = "" if offer in found else click.prompt("Key (empty for none)", hide_input=True, default="", err=True)
        try:
            models = asyncio.run(models_of(offer, key.strip(), os.environ))
        except FerruleError as error:
            click.echo(printable(f"{error}\n  fix: {error.hint}"), err=True)
            continue
        chosen = _model(offer, models, model, yes=False)
        levels = click.Choice(["supervised", "read_only", "full"])
        click.echo("How free is the agent? supervised: asks before it changes anything; read_only; full")
        level: str = click.prompt("Rules", type=levels, default="supervised", err=True)
        return Choice(offer=offer, model=chosen, key=key.strip(), level=level)


def _asked_offer(found: list[Offer]) -> Offer:
    click.echo("Which model shall answer?")
    for place, offer in enumerate(found, 1):
        click.echo(f"  {place}  {printable(offer.label)}")
    click.echo(f"  {len(found) + 1}  OpenAI, or a server that speaks its language: you give address and key")
    while True:
        number: int = click.prompt("Number", type=click.IntRange(1, len(found) + 1), default=1, err=True)
        if number <= len(found):
            return found[number - 1]
        address: str = click.prompt("Address (empty for OpenAI)", default="", show_default=False, err=True)
        try:
            return typed_offer(address)
        except UsageError as error:
            click.echo(f"{error}; {error.hint}", err=True)


def _model(offer: Offer, models: tuple[str, ...], wanted: str, *, yes: bool) -> str:
    if offer.adapter == "local":
        return ""
    suggested = wanted or preferred(offer, models)
    if not yes and not wanted:
        if models:
            more = f", and {len(models) - MOST_SHOWN} more" if len(models) > MOST_SHOWN else ""
            click.echo(printable(f"It has {', '.join(models[:MOST_SHOWN])}{more}."))
        suggested = click.prompt("Model", default=suggested or None, err=True)
    if not suggested:
        raise UsageError(f"{offer.label} has no model", hint="load one there, or name one with --model")
    if models and suggested not in models:
        raise UsageError(f"there is no model {suggested!r} there", hint=f"it has {', '.join(models[:MOST_SHOWN])}")
    return suggested
