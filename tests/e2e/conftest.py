"""One stack of processes and one browser for all browser tests.

Of the scenarios that can be played over each connection and in each style, all but those in which a person simply
approves are played in one way only, by turns. With ``--every`` all are played in every way; with ``-k`` or the name of
a test, too. What a card shows by itself is tested at the element (`test_elements.py`), not on the pages.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.programs import NEXT
from tests.e2e.stack import PAGE, Stack, running
from tests.e2e.streams import assert_all_conform


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Stack]:
    """The running stack. It starts with the first browser test. In the end all that pages were sent is judged.

    With `--every` there is a picture of each state of a page in `shots/`.
    """
    for built in (PAGE / "dist", NEXT):
        assert (built / "index.html").is_file(), "the pages are not built: run `make e2e`"
    with running(tmp_path_factory.mktemp("e2e"), pytestconfig.getoption("every")) as stack:
        yield stack
    assert_all_conform(*stack.streams)  # nobody writes to them any more
