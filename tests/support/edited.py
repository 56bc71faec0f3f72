"""Text of a file as an editor, a terminal or a transfer may have damaged it."""

from hypothesis import strategies as st


def edited(data: st.DataObject, text: str, pieces: st.SearchStrategy[str]) -> bytes:
    """Cut up to 60 characters out of a text and put pieces, or any text, in their place."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    put = data.draw(st.lists(pieces, max_size=4).map("".join) | st.text(max_size=8))
    return (text[:start] + put + text[end:]).encode("utf-8", "surrogatepass")
