"""`--header 'Name: value'`, for commands that talk to a server of anybody's."""

import click

header_option = click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send this with each request."
)


def read_headers(given: tuple[str, ...]) -> dict[str, str]:
    """The headers by their names. Raises `click.BadParameter`."""
    pairs = [header.partition(":") for header in given]
    for name, colon, value in pairs:
        if not (colon and name.strip() and f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
            raise click.BadParameter("must be 'Name: value' in ASCII", param_hint="--header")
    return {name.strip(): value.strip() for name, _, value in pairs}
