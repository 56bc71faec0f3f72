import pytest

from fabricbench.report.documents.queue_pairs import queue_pairs_table
from fabricbench.report.output.number_selection import ChoiceError, choose
from fabricbench.report.terminal.text_table import render


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0", [0]), ("0,1,5-8", [0, 1, 5, 6, 7, 8]), (" 3 , 1-2,2", [1, 2, 3]), ("0-9", list(range(10)))],
)
def test_numbers_and_ranges_are_read(text: str, numbers: list[int]) -> None:
    assert choose(text, 10, "queue pair") == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "no queue pair 10; the trial has 0 to 9"),
        ("8-4000000000", "no queue pair 10; the trial has 0 to 9"),
        ("77-99", "no queue pair 77; the trial has 0 to 9"),
        ("5-2", 'the range "5-2" is empty; write 2-5'),
        ("-1", '"-1" is no queue pair'),
        ("", '"" is no queue pair'),
        ("1,,2", '"" is no queue pair'),
        ("a", '"a" is no queue pair'),
        ("1.5", '"1.5" is no queue pair'),
    ],
)
def test_a_wrong_choice_says_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        choose(text, 10, "queue pair")
    assert message in str(caught.value)


def test_the_list_names_ranks_hosts_and_ports() -> None:
    pair = (0, "test", 0, 0, 0, 1, "host0", "host6", "10.0.0.1", "10.0.0.7", 49976)
    lines = render(queue_pairs_table([pair]), colour=False).splitlines()
    assert lines[-1].split() == [
        "0",
        "test",
        "0",
        "0",
        "0",
        "1",
        "host0",
        "host6",
        "10.0.0.1",
        "10.0.0.7",
        "49976",
    ]
