import json

from trilut.text import cut, one_line, quote, visible


def test_long_text_is_cut_with_a_mark():
    assert cut("abcde", 5) == "abcde"
    assert cut("abcdef", 5) == "abcd…"


def test_message_is_one_line_of_a_length_that_can_be_read():
    assert one_line("a\r\n b\x1b[2J") == r"a b\x1b[2J"
    assert one_line("n" * 5000) == "n" * 3999 + "…"


def test_quoted_text_is_one_line_of_ascii():
    name = "".join(map(chr, range(0x300))) + "\u2028😀"
    quoted = quote(name, 100_000)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert json.loads(quoted.replace(r"\x7f", "\x7f")) == name


def test_quoted_text_says_how_much_is_left_out():
    assert quote("n" * 10, 12) == '"nnnnnnnnnn"'
    assert quote({"a": "n" * 10}, 9) == '{"a": "nn... (10 more characters)'


def test_control_characters_become_visible():
    assert visible("a\x00\x1b[31m\x7f\x85\u202eb\r") == r"a\x00\x1b[31m\x7f\x85\u202eb\r"
    assert visible("\ttab, é, 漢, 😀\n") == "\ttab, é, 漢, 😀\n"
