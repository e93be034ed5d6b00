"""What an attachment is: by its bytes, whatever it says; and what can't be one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.media import MAX_ADDRESS, normal, placeholder, problem
from agui_gate.core.transcript import Media
from tests.product import poison

PNG = Media("image", "data", poison.PNG, "image/png")


def media(part):
    if part["type"] == "binary":
        return Media("image", "data", part["data"], part["mimeType"])
    source = part["source"]
    return Media(part["type"], source["type"], source["value"], source.get("mimeType"))


@pytest.mark.parametrize("kind", poison.AT_THE_DOOR)
def test_what_can_not_be_an_attachment(kind: str) -> None:
    one = media(poison.AT_THE_DOOR[kind])
    reason = problem(one)
    assert reason
    assert placeholder(one, reason) == f"[{one.kind} left out: {reason}]"
    assert one.value == "" or one.value not in reason, "never the content"


@pytest.mark.parametrize("kind", poison.MENDED)
def test_what_is_mended(kind: str) -> None:
    one = normal(media(poison.MENDED[kind]))
    assert problem(one) is None
    assert one.source == "data"
    assert one.mime_type in ("image/png", "image/jpeg", "application/pdf")
    assert one.kind == ("document" if one.mime_type == "application/pdf" else "image")
    if one.mime_type == "image/png":
        assert one == PNG


@pytest.mark.parametrize(
    "one",
    [
        PNG,
        Media("image", "url", "https://x.example/a.png?q=é"),
        Media("image", "url", "http://192.168.1.10/a.png"),
        Media("image", "file", "file-abc_1"),
        Media("image", "data", "Qk0=", "image/bmp"),
        Media("audio", "data", "UklGRg==", "audio/wav"),
        Media("video", "data", "AAAA", "video/mp4"),
        Media("document", "data", "aGk=", "text/plain"),
        Media("document", "data", "aGk="),
        Media("document", "data", "UEsD", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ],
)
def test_what_is_well(one) -> None:
    """Addresses of private networks too: nothing is fetched here, and a model server may stand in one."""
    assert problem(one) is None
    assert normal(one) == one


def test_an_address_has_an_end() -> None:
    assert problem(Media("image", "url", "https://x.example/".ljust(MAX_ADDRESS, "a"))) is None
    assert problem(Media("image", "url", "https://x.example/".ljust(MAX_ADDRESS + 1, "a")))


@given(
    st.builds(
        Media,
        st.sampled_from(["image", "audio", "video", "document"]),
        st.sampled_from(["data", "url", "file"]),
        st.text(max_size=20)
        | st.sampled_from([poison.PNG, f"data:image/gif;base64,{poison.PNG}", "data:,", "http://["]),
        st.none() | st.text(max_size=8) | st.sampled_from(["image/png", "IMAGE/JPG; a=b"]),
    )
)
def test_anything_has_one_normal_form(one) -> None:
    assert normal(normal(one)) == normal(one)
    assert problem(normal(one)) == problem(one)


@pytest.mark.parametrize("label", ["image/jpg", "IMAGE/JPG; q=1", "image/jpeg"])
def test_a_jpeg_has_one_label_also_where_its_bytes_say_nothing(label: str) -> None:
    assert normal(Media("image", "data", "AAAA", label)).mime_type == "image/jpeg"
