"""What the programs that CI starts find around them."""

import os


def environment(**changes):
    """This process's, without the proxies that the machine may have: everything happens on 127.0.0.1."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return kept | changes
