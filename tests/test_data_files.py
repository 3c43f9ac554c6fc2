import gzip
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from images import cifar_binary_file, idx_file

from trilut.cli import main
from trilut.data import load_dataset
from trilut.errors import DataError, FormatError


def iris(path):
    """Write a small table whose second column tells the classes apart, and return its name."""
    rows = [f"{index},{index % 3},{'abc'[index % 3]}" for index in range(60)]
    path.write_text("\n".join(["length,width,species", *rows]))
    return str(path)


def table(tmp_path, *lines):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    return str(path)


def whole(dataset):
    parts = [dataset.train, dataset.validation, dataset.test]
    return np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])


def fails(message, name, error=DataError, **options):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        load_dataset(name, **options)


def test_table_is_split_by_seed_and_class(tmp_path):
    name = iris(tmp_path / "iris.csv")
    dataset, same, other = (load_dataset(name, seed=seed) for seed in (0, 0, 1))
    assert dataset.name == name
    assert dataset.feature_names == ("length", "width")
    assert dataset.class_names == ("a", "b", "c")
    for part, size in ((dataset.train, 12), (dataset.validation, 4), (dataset.test, 4)):
        assert np.bincount(part.y).tolist() == [size] * 3
        np.testing.assert_array_equal(part.x[:, 1], part.y)
    assert sorted(whole(dataset)[0][:, 0]) == list(range(60))
    np.testing.assert_array_equal(dataset.train.x, same.train.x)
    assert not np.array_equal(dataset.train.x, other.train.x)


@pytest.mark.parametrize("by_name", [True, False])
def test_label_column_of_a_table(tmp_path, by_name):
    name = iris(tmp_path / "i,r:is=.csv")
    if by_name:
        dataset = load_dataset(f"{name}:label=width")
        assert dataset.feature_names == ("length", "species=a", "species=b", "species=c")
        assert dataset.class_names == ("0", "1", "2")
    else:
        fails(
            f"{name!r} has no column 'with', expected one of 'length', 'width', 'species'; "
            "did you mean 'width'?",
            name,
            label="with",
        )


def test_dataset_can_be_loaded_by_its_own_name(tmp_path):
    path = table(tmp_path, "kind,x", *(f"{index % 2},{index}" for index in range(20)))
    dataset = load_dataset(path, label="kind")
    assert dataset.name == f"{path}:label=kind"
    np.testing.assert_array_equal(load_dataset(dataset.name).train.x, dataset.train.x)


def test_missing_cells_quotes_other_delimiters_and_line_ends(tmp_path):
    path = tmp_path / "table.tsv.gz"
    lines = ['"the ""x"""\ty\tlabel', "\t1\tno", "?\t2\tyes", 'NaN\t-1e3\t"no"', " 4 \tNA\tyes", ""]
    path.write_bytes(gzip.compress("\r\n".join(lines[:1] + lines[1:-1] * 5 + lines[-1:]).encode()))
    dataset = load_dataset(str(path))
    assert dataset.feature_names == ('the "x"', "y")
    assert dataset.class_names == ("no", "yes")
    x, y = whole(dataset)
    order = np.lexsort(x.T)
    np.testing.assert_array_equal(x[order][::5][:, 1], [-1000, 1, 2, np.nan])
    np.testing.assert_array_equal(x[order][::5][:, 0], [np.nan, np.nan, np.nan, 4])
    assert y[order][::5].tolist() == [0, 0, 1, 1]


def test_byte_order_mark_and_cells_with_line_ends(tmp_path):
    path = tmp_path / "table.csv"
    rows = "".join(f'{index},"two\nlines {index % 2}"\n' for index in range(10))
    path.write_text("x,label\n" + rows, encoding="utf-8-sig")
    dataset = load_dataset(str(path))
    assert dataset.feature_names == ("x",)
    assert dataset.class_names == ("two\nlines 0", "two\nlines 1")


def test_numeric_classes_are_sorted_as_numbers(tmp_path):
    cells = ["10", "9", "9.0", "-1.5", "1000000"]
    name = table(tmp_path, "x,label", *(f"{row},{cell}" for row, cell in enumerate(cells * 5)))
    assert load_dataset(name).class_names == ("-1.5", "9", "10", "1000000")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "NAME is empty, expected a header and samples"),
        (["x"], "NAME has 1 columns, expected at least one feature and the label"),
        (
            ["1,2", "3,4"],
            "Does NAME have a header? Its first line, 1, 2, looks like a sample: "
            "say --no-header, or --header if it names the columns",
        ),
        (
            ["5.1,3.5,1.4,.2,9,Iris-setosa", *["4.9,3,1.4,.2,?,Iris-setosa"] * 9],
            "Does NAME have a header? Its first line, 5.1, 3.5, 1.4, .2, 9, …, looks like a "
            "sample: say --no-header, or --header if it names the columns",
        ),
        (
            ["p,x", "e,x", "p,y"],
            "Does NAME have a header? Its first line, p, x, looks like a sample: "
            "say --no-header, or --header if it names the columns",
        ),
        (
            ["x,x,y"],
            "NAME has two columns 'x', expected different names; "
            "a file without names needs --no-header",
        ),
        (["x,y"], "NAME has a header but no samples"),
        (
            ["x,y", "1,a", "", "1,2,b"],
            "Line 4 of NAME has 3 cells, expected 2 as in the header",
        ),
        (
            ["x,y", "1,a", "1;5,b"],
            "Line 3 of NAME has '1;5' in the column 'x', expected a finite number, "
            "or nothing if it is missing; others are numbers: see --drop and --categories",
        ),
        (
            ["x,y", "1,a", "inf,b"],
            "Line 3 of NAME has 'inf' in the column 'x', "
            "expected a finite number, or nothing if it is missing",
        ),
        (
            ["x,y", "1,a", "1,?"],
            "Line 3 of NAME has nothing in the column 'y', expected the class of the sample",
        ),
        (
            ["x,y", "1,1.1", "1,1.2", "1,1.3", "1,1.4"],
            "NAME has 4 different values in the column 'y' of 4 samples, expected classes; "
            "name another column with --label",
        ),
        (
            ["x,y", "1,a", "1,b"],
            "Data set NAME has 2 samples in 2 classes, which are too few to split into 3 parts",
        ),
        (["x,y", '1,"a"b'], "NAME is broken after line 1: ',' expected after '\"'"),
    ],
)
def test_wrong_table(tmp_path, lines, message):
    name = table(tmp_path, *lines)
    fails(message.replace("NAME", repr(name)), name)


def rows_of(lines, rows=12):
    """Return lines with two classes, again and again."""
    return [lines[row % len(lines)] for row in range(rows)]


def test_latin_1_semicolons_and_decimal_commas(tmp_path):
    path = tmp_path / "table.csv"
    lines = ["Größe;Gewicht;Art", *rows_of(["1,5;2;größer", "-,5;;kleiner", "1e1;3,25;größer"])]
    lines[2] = "-0,5;;kleiner"
    path.write_bytes("\n".join(lines[:1] + rows_of(lines[1:4])).encode("latin-1"))
    dataset = load_dataset(str(path))
    assert dataset.feature_names == ("Größe", "Gewicht")
    assert dataset.class_names == ("größer", "kleiner")
    assert set(whole(dataset)[0][:, 0]) == {1.5, -0.5, 10}
    assert dataset.notes == (
        f"{str(path)!r} is not UTF-8, so it is read as Latin-1",
        f"the label is the column 'Art' of {str(path)!r}; --label names another",
    )
    path.write_text("\n".join(["x;y;k", *rows_of(["1,5;2;a", "1.234;2;b"])]))
    fails(
        f"Line 3 of {str(path)!r} has '1.234' in the column 'x', expected a finite number, "
        "or nothing if it is missing; others are numbers: see --drop and --categories",
        str(path),
    )


def test_notes_about_the_label(tmp_path):
    name = table(tmp_path, "kind,x", *rows_of(["a,1", "b,2"]), "c,1")
    assert load_dataset(name).notes == (
        f"the label is the column 'x' of {name!r}; --label names another",
    )
    assert load_dataset(name, label="kind").notes == (
        "too few samples for one in the test set: 'c'",
    )


def test_utf_16_and_separators_in_quotes(tmp_path):
    path = tmp_path / "table.csv"
    lines = ['"a, b, c";"d;e";kind', *rows_of(["1;2;p", "3;4;q"])]
    path.write_text("\n".join(lines), encoding="utf-16")
    assert load_dataset(str(path)).feature_names == ("a, b, c", "d;e")


def test_decimal_commas_without_a_header(tmp_path):
    name = table(tmp_path, *rows_of(["1,5;2,5;a", "3,5;4,5;b"]))
    dataset = load_dataset(f"{name}:no-header")
    assert dataset.feature_names == ("column_1", "column_2")
    assert set(whole(dataset)[0][:, 1]) == {2.5, 4.5}
    assert len(whole(dataset)[1]) == 12


def test_numbers_may_be_names_of_columns(tmp_path):
    name = table(tmp_path, "400,410,species", *rows_of(["1,2,a", "3,4,b"]))
    assert load_dataset(name).feature_names == ("400", "410")
    name = table(tmp_path, "0,1,2", *rows_of(["1,2,0", "3,4,1"]))
    assert load_dataset(f"{name}:header").feature_names == ("0", "1")


def test_unnamed_column_that_numbers_the_rows(tmp_path):
    rows = [f"{row},{row % 5 / 2},{'ab'[row % 2]}" for row in range(100)]
    dataset = load_dataset(table(tmp_path, ",x,kind", *rows))
    assert dataset.feature_names == ("x",)
    assert dataset.notes[1].endswith("table.csv': 'column_1' (numbers the rows)")


def test_columns_in_the_name_of_a_table(tmp_path):
    rows = [f"{row % 2},{row % 7},{row % 3},{'uvw'[row % 3]}" for row in range(30)]
    name = table(tmp_path, 'kind,"a,b",code,c=d', *rows)
    dataset = load_dataset(f"{name}:label=kind:drop=c=d:categories=code")
    assert dataset.feature_names == ("a,b", "code=0", "code=1", "code=2")
    same = load_dataset(dataset.name)
    np.testing.assert_array_equal(same.train.x, dataset.train.x)
    dataset = load_dataset(f'{name}:label=kind:features="a,b",c=d')
    assert dataset.feature_names == ("a,b", "c=d=u", "c=d=v", "c=d=w")
    fails(
        f"{name!r} has no column 'a', expected one of 'kind', 'a,b', 'code', 'c=d'",
        f"{name}:label=kind:features=a,b",
    )
    fails(
        f"The column 'kind' of {name!r} is the label, not a feature",
        f"{name}:label=kind:categories=kind",
    )


def test_a_text_among_numbers_far_below(tmp_path):
    rows = [f"{row % 9},{'ab'[row % 2]}" for row in range(70_000)]
    rows[69_000] = "G,a"
    name = table(tmp_path, "floor,kind", *rows)
    fails(
        f"Line 69002 of {name!r} has 'G' in the column 'floor', expected a finite number, "
        "or nothing if it is missing; others are numbers: see --drop and --categories",
        name,
    )
    categories = load_dataset(f"{name}:categories=floor").categories
    assert categories == {"floor": (*"012345678", "G")}


def test_parquet_is_as_good_as_text(tmp_path):
    polars = pytest.importorskip("polars")
    rows = [f"{row % 7 / 2},{'uvw'[row % 3]},{'ab'[row % 2]}" for row in range(60)]
    name = table(tmp_path, "x,letter,kind", *rows)
    polars.read_csv(name).write_parquet(tmp_path / "table.parquet")
    text, parquet = load_dataset(name), load_dataset(str(tmp_path / "table.parquet"))
    assert parquet.feature_names == text.feature_names
    assert parquet.categories == text.categories
    np.testing.assert_array_equal(parquet.test.x, text.test.x)
    (tmp_path / "table.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FormatError, match=r"^'.*table\.parquet' is not a Parquet file: .+$"):
        load_dataset(str(tmp_path / "table.parquet"))


def test_compressed_table_that_holds_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("trilut.data.tables.MAX_BYTES", 1 << 20)
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"x,kind\n" + b"1,a\n2,b\n" * 300_000))
    fails(f"{str(path)!r} holds more than 1 MiB", str(path), FormatError)


def test_a_line_without_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr("trilut.data.text._LONGEST_LINE", 1 << 20)
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"1" * (3 << 20)))
    fails(f"{str(path)!r} has a line of more than 1048576 characters", str(path))


def test_too_many_classes_to_count(tmp_path, monkeypatch):
    for module in ("dataset", "tables", "selection"):
        monkeypatch.setattr(f"trilut.data.{module}.MOST_TEXTS", 10)
    name = table(tmp_path, "x,kind", *(f"{row % 3},{row % 40}" for row in range(200)))
    fails(
        f"{name!r} has 10 or more different values in the column 'kind' of 200 samples, "
        "expected classes; name another column with --label",
        name,
    )


def test_one_class(tmp_path):
    name = table(tmp_path, "x,y", *["1,a"] * 10)
    fails(f"Data set {name!r} has 1 classes, expected at least 2", name)


def test_table_that_is_not_text(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("x,größe\n".encode() + b"\xff,1\n")
    fails(f"{str(path)!r} is not UTF-8 text: invalid start byte", str(path))
    path.write_bytes(b"x,y\n1,\0\n")
    fails(f"{str(path)!r} is not text: it holds NUL characters", str(path))
    path.write_bytes(gzip.compress(b"x,y\n1,2\n")[:-4])
    fails(
        f"{str(path)!r} is not a complete gzip file: "
        "Compressed file ended before the end-of-stream marker was reached",
        str(path),
        FormatError,
    )


@pytest.mark.parametrize("name", ["none.csv", "none.npz", "no/where"])
def test_file_that_does_not_exist(name):
    fails(f"Cannot read {name!r}: No such file or directory", name, FormatError)


@pytest.mark.parametrize("end", ["", ".csv", ".npz", "/x"])
def test_name_that_no_file_can_have(end):
    name = "n" * 5000 + end
    if end:
        fails(f"Cannot read {name!r}: File name too long", name, FormatError)
    else:
        with pytest.raises(DataError, match=r"^Data set 'n+' does not exist, expected one of "):
            load_dataset(name)


def test_directory_that_cannot_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    fails(f"Cannot read {str(tmp_path)!r}: Permission denied", str(tmp_path), FormatError)


def test_file_of_another_kind(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("")
    fails(
        f"Cannot tell from its name what {str(path)!r} holds, expected .csv, .tsv, .csv.gz, "
        ".tsv.gz, .parquet, .npz, or a directory of IDX files or CIFAR-10 batches",
        str(path),
    )


@pytest.mark.parametrize("name", ["moons", "mnist"])
def test_label_of_what_is_no_table(name):
    fails(f"Data set {name!r} is no table, so there is no column 'x'", name, label="x")


def npz(tmp_path, **arrays):
    path = tmp_path / "arrays.npz"
    np.savez(path, **arrays)
    return str(path)


def test_npz_with_samples_and_labels(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2))
    x[0, 0] = np.nan
    name = npz(tmp_path, X=x, target=np.arange(30) % 3 + 1, feature_names=np.array(["f", "g"]))
    dataset = load_dataset(name)
    assert dataset.class_names == ("1", "2", "3")
    assert dataset.feature_names == ("f", "g")
    assert dataset.train.x.dtype == np.float64
    np.testing.assert_array_equal(np.sort(whole(dataset)[0], axis=0), np.sort(x, axis=0))
    fails(f"{name!r} is no table, so there is no column 'y'", name, label="y")


def test_npz_with_images_and_a_test_set(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 4, 3), dtype=np.uint8)
    kinds = np.array(["cat", "dog"])[np.arange(40) % 2]
    name = npz(
        tmp_path, x_train=images[:30], y_train=kinds[:30], x_test=images[30:], y_test=kinds[30:]
    )
    dataset = load_dataset(name)
    assert dataset.train.x.dtype == np.uint8
    assert dataset.feature_names[:4] == ("pixel_0_0", "pixel_0_1", "pixel_0_2", "pixel_1_0")
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (24, 6, 10)
    np.testing.assert_array_equal(dataset.test.x, images[30:].reshape(10, 12))
    assert dataset.class_names == ("cat", "dog")
    np.testing.assert_array_equal(dataset.test.y, np.arange(10) % 2)


def test_npz_with_three_parts_is_taken_as_it_is(tmp_path):
    parts = {
        f"{kind}_{part}": array
        for part, size in (("train", 6), ("val", 4), ("test", 2))
        for kind, array in (("x", np.arange(2 * size).reshape(size, 2)), ("y", np.arange(size) % 2))
    }
    dataset = load_dataset(npz(tmp_path, **parts))
    assert dataset.seed is None
    np.testing.assert_array_equal(dataset.validation.x, np.arange(8).reshape(4, 2))
    assert dataset.feature_names == ("feature_0", "feature_1")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"a": np.zeros(1)},
            "NAME holds 'a', expected 'x' and 'y', or 'x_train', 'y_train', 'x_test' and 'y_test'",
        ),
        ({"x": np.zeros((3, 1)), "y": np.zeros(2)}, "NAME has 3 samples but 2 labels"),
        (
            {"x": np.zeros(3), "y": np.zeros(3)},
            "NAME has samples of type float64 and shape (3,), "
            "expected numbers with at least two dimensions",
        ),
        (
            {"x": np.array([["a"]]), "y": np.zeros(1)},
            "NAME has samples of type <U1 and shape (1, 1), "
            "expected numbers with at least two dimensions",
        ),
        (
            {key: np.zeros((3, 1)) for key in ("x_train", "y_train", "x_val", "y_val")},
            "NAME has a validation set but no test set",
        ),
        (
            {"x": np.zeros((3, 1)), "y": np.array([0, np.nan, 1])},
            "NAME has 'nan' as the label of sample 1 of 3, expected the class of the sample",
        ),
        (
            {
                "x_train": np.zeros((9, 1)),
                "y_train": np.array(["a", "b", "c"] * 3),
                "x_test": np.zeros((2, 1)),
                "y_test": np.array(["a", ""]),
            },
            "NAME has '' as the label of sample 1 of 2, expected the class of the sample",
        ),
        (
            {"x": np.zeros((9, 1)), "y": np.arange(9) / 7},
            "NAME has 9 different labels of 9 samples, expected classes",
        ),
        (
            {"x": np.zeros((0, 4)), "y": np.zeros(0)},
            "NAME has samples of shape (0, 4), expected at least one sample and one feature",
        ),
        (
            {"x": np.zeros((4, 0)), "y": np.arange(4) % 2},
            "NAME has samples of shape (4, 0), expected at least one sample and one feature",
        ),
    ],
)
def test_wrong_npz(tmp_path, arrays, message):
    name = npz(tmp_path, **arrays)
    fails(message.replace("NAME", repr(name)), name)


def test_npz_of_python_objects(tmp_path):
    name = npz(tmp_path, x=np.array([[None]]), y=np.zeros(1))
    with pytest.raises(FormatError) as caught:
        load_dataset(name)
    assert str(caught.value) == (
        f"{name!r} is not an .npz file of plain arrays: "
        "Object arrays cannot be loaded when allow_pickle=False"
    )


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", pickle.dumps({"x": 1})])
def test_npz_that_is_none(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"^'.*a\.npz' is not an \.npz file of plain arrays: .+$"):
        load_dataset(str(path))


def mnist_files(tmp_path, *, compressed):
    rng = np.random.default_rng(0)
    arrays = {}
    for part, size in (("train", 24), ("t10k", 10)):
        arrays[f"{part}-images-idx3-ubyte"] = rng.integers(0, 256, (size, 3, 2), dtype=np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = np.arange(size, dtype=np.uint8) % 2
    for name, array in arrays.items():
        content = gzip.compress(idx_file(array)) if compressed else idx_file(array)
        (tmp_path / (name + ".gz" * compressed)).write_bytes(content)
    return arrays


@pytest.mark.parametrize("compressed", [False, True])
def test_directory_of_idx_files(tmp_path, compressed):
    arrays = mnist_files(tmp_path, compressed=compressed)
    dataset = load_dataset(str(tmp_path))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (20, 4, 10)
    np.testing.assert_array_equal(dataset.test.x, arrays["t10k-images-idx3-ubyte"].reshape(10, 6))
    assert dataset.feature_names[-1] == "pixel_2_1"
    assert dataset.class_names == ("0", "1")


def test_damaged_idx_files(tmp_path):
    mnist_files(tmp_path, compressed=False)
    path = tmp_path / "t10k-images-idx3-ubyte"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    fails(
        f"{str(path)!r} has 75 bytes, expected 76 for the dimensions 10×3×2",
        str(tmp_path),
        FormatError,
    )
    path.write_bytes(b"\x00\x00\x0d\x03" + content[4:])
    fails(
        f"{str(path)!r} starts with '00 00 0d 03', expected '00 00 08' and the number of "
        "dimensions, as an IDX file of bytes does",
        str(tmp_path),
        FormatError,
    )
    path.write_bytes(idx_file(np.zeros((9, 3, 2), np.uint8)))
    fails(f"{str(path)!r} has 9 samples but 10 labels", str(tmp_path))


def test_directory_of_something_else(tmp_path):
    fails(
        f"Directory {str(tmp_path)!r} holds neither the four IDX files of an MNIST "
        "(train-images-idx3-ubyte …) nor the batches of CIFAR-10 (data_batch_1 … test_batch)",
        str(tmp_path),
    )


def python_2_pickle(x, y):
    """Return a batch as the published ones are: a pickle of Python 2, whose text is bytes."""

    def text(content):
        return b"T" + len(content).to_bytes(4, "little") + content

    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + text(b"|") + b"NNN" + 2 * b"J\xff\xff\xff\xff" + b"K\x00tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b")
    array += b"\x87R(K\x01K" + bytes([len(x)]) + b"M\x00\x0c\x86" + dtype + b"\x89"
    array += text(x.tobytes()) + b"tb"
    labels = b"](" + b"".join(b"K" + bytes([label]) for label in y) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + labels + b"u."


PICKLES = {
    "Python 2": python_2_pickle,
    "today": lambda x, y: pickle.dumps({b"data": x, b"labels": y.tolist()}),
    "protocol 2": lambda x, y: pickle.dumps({b"data": x, b"labels": y.tolist()}, protocol=2),
}


def cifar_batches(tmp_path, kind):
    rng = np.random.default_rng(0)
    batches = {}
    for name in ("data_batch_1", "data_batch_2", "test_batch"):
        x = rng.integers(0, 256, (20, 3072), dtype=np.uint8)
        y = np.arange(20, dtype=np.uint8) % 10
        batches[name] = x, y
        if kind == "binary":
            (tmp_path / f"{name}.bin").write_bytes(cifar_binary_file(x, y))
        else:
            (tmp_path / name).write_bytes(PICKLES[kind](x, y))
    return batches


@pytest.mark.parametrize("kind", ["binary", *PICKLES])
def test_batches_of_cifar10(tmp_path, kind):
    batches = cifar_batches(tmp_path, kind)
    dataset = load_dataset(str(tmp_path))
    np.testing.assert_array_equal(dataset.test.x, batches["test_batch"][0])
    np.testing.assert_array_equal(dataset.test.y, batches["test_batch"][1])
    assert len(dataset.train) + len(dataset.validation) == 40
    assert dataset.class_names[3] == "cat"


class _Evil:
    def __reduce__(self):
        import os

        return os.mkdir, ("gone",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            pickle.dumps(_Evil(), protocol=4),
            "wants to call 'posix.mkdir', which no batch of CIFAR-10 does",
        ),
        (
            pickle.dumps({b"data": np.zeros((1, 3072)), b"labels": [0]}),
            "has an array of something other than bytes, row by row",
        ),
        (
            pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]}),
            "has 2 images but labels of shape (1,)",
        ),
        (
            pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}),
            "has the label 10 at image 0, expected 0…9",
        ),
        (pickle.dumps({b"data": 1}), "is not a Python batch of CIFAR-10"),
        (pickle.dumps([1, 2]), "is not a Python batch of CIFAR-10"),
        (b"", "is not a Python batch of CIFAR-10"),
        (b"hello", "is not a Python batch of CIFAR-10"),
    ],
)
def test_pickle_that_is_no_batch(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(content)
    fails(f"{str(tmp_path / 'data_batch_1')!r} {message}", str(tmp_path), FormatError)
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("seed", range(20))
def test_damaged_pickle_is_refused_or_read(tmp_path, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (1, 3072), dtype=np.uint8)
    content = bytearray(pickle.dumps({b"data": x, b"labels": [1]}, protocol=2))
    position = rng.integers(0, len(content) if seed % 2 else 120)
    content[position] = rng.integers(0, 256)
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises((FormatError, DataError)):
        load_dataset(str(tmp_path))


def test_binary_batch_of_another_length(tmp_path):
    for name in ("data_batch_1.bin", "test_batch.bin"):
        (tmp_path / name).write_bytes(bytes(3074))
    fails(
        f"{str(tmp_path / 'data_batch_1.bin')!r} has 3074 bytes, "
        "expected a multiple of 3073 as a binary batch of CIFAR-10 has",
        str(tmp_path),
        FormatError,
    )


JSC = [f"j_{stem}" for stem in ("zlogz", "c1_b0_mmdt", "c1_b1_mmdt", "c1_b2_mmdt", "c2_b1_mmdt")]
JSC += [f"j_{stem}_mmdt" for stem in ("c2_b2", "d2_b1", "d2_b2", "d2_a1_b1", "d2_a1_b2", "m2_b1")]
JSC += ["j_m2_b2_mmdt", "j_n2_b1_mmdt", "j_n2_b2_mmdt", "j_mass_mmdt", "j_multiplicity"]
MARKS = ["j_g", "j_q", "j_w", "j_z", "j_t"]


def jsc_rows(count):
    for index in range(count):
        marks = [str(int(index % 5 == label)) for label in range(5)]
        yield ",".join(["7", *(f"{index}.{column}" for column in range(16)), *marks])


def test_jsc_with_one_column_per_class(tmp_path):
    path = table(tmp_path, ",".join(["j_index", *JSC, *MARKS]), *jsc_rows(50))
    dataset = load_dataset(f"jsc:path={path}")
    assert dataset.num_features == 16
    assert dataset.feature_names[:2] == ("zlogz", "c1_b0_mmdt")
    assert dataset.class_names == ("g", "q", "w", "z", "t")
    np.testing.assert_array_equal(np.floor(dataset.test.x[:, 0]) % 5, dataset.test.y)


def test_jsc_with_a_class_column(tmp_path):
    header = ",".join([*(name.removeprefix("j_") for name in JSC), "class"])
    rows = [",".join([*["1"] * 16, letter]) for letter in "gqwzt" * 5]
    path = table(tmp_path, header, *rows)
    assert np.bincount(load_dataset(f"jsc:path={path}").train.y).tolist() == [3] * 5
    path = table(tmp_path, header, *rows, rows[0].replace("g", "b"))
    fails(
        f"Line 27 of {path!r} has 'b' in the column 'class', expected one of g, q, w, z, t",
        f"jsc:path={path}",
    )


def test_jsc_with_two_classes_at_once(tmp_path):
    rows = [*jsc_rows(10), next(jsc_rows(1)).replace("0,0,0,0", "0,1,0,0")]
    path = table(tmp_path, ",".join(["j_index", *JSC, *MARKS]), *rows)
    fails(
        f"Sample 10 of {path!r} has no single 1 in the columns j_g, j_q, j_w, j_z and j_t",
        f"jsc:path={path}",
    )


@pytest.mark.parametrize("name", ["jsc", "jsc:", "jsc:file=x", "unsw_nb15:path="])
def test_benchmark_without_its_file(name):
    base = name.partition(":")[0]
    fails(f"Data set {name!r} is a file of your own, expected {base}:path=FILE", name)


UNSW = "id,dur,proto,service,state,spkts,attack_cat,label"


def unsw_rows(count, proto="tcp"):
    for index in range(count):
        kind = "Normal" if index % 2 else "DoS"
        yield f"{index},{index}.5,{[proto, 'udp'][index % 2]},-,FIN,{index},{kind},{index % 2}"


def test_unsw_from_its_two_tables(tmp_path):
    (tmp_path / "UNSW_NB15_training-set.csv").write_text("\n".join([UNSW, *unsw_rows(24)]))
    rows = list(unsw_rows(6, proto="arp"))
    (tmp_path / "UNSW_NB15_testing-set.csv").write_text("\n".join([UNSW, *rows]))
    dataset = load_dataset(f"unsw_nb15:path={tmp_path}")
    assert dataset.class_names == ("normal", "attack")
    assert dataset.feature_names == (
        "dur",
        "spkts",
        "proto=tcp",
        "proto=udp",
        "service=-",
        "state=FIN",
    )
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (20, 4, 6)
    np.testing.assert_array_equal(dataset.test.x[:, 2], 0)
    np.testing.assert_array_equal(dataset.test.x[:, 3], [0, 1, 0, 1, 0, 1])


def test_unsw_from_one_table(tmp_path):
    path = table(tmp_path, UNSW, *unsw_rows(20))
    assert len(load_dataset(f"unsw_nb15:path={path}").train) == 12
    path = table(tmp_path, UNSW, *unsw_rows(20), "1,1,tcp,-,FIN,1,x,2")
    fails(
        f"Line 22 of {path!r} has '2' in the column 'label', expected one of 0, 1",
        f"unsw_nb15:path={path}",
    )


def test_unsw_in_bits(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (40, 8)).astype(np.float32)
    name = npz(tmp_path, train=bits[:30], test=bits[30:])
    dataset = load_dataset(f"unsw_nb15:path={name}")
    assert dataset.train.x.dtype == np.uint8
    assert dataset.feature_names[-1] == "bit_6"
    np.testing.assert_array_equal(dataset.test.y, bits[30:, -1])
    name = npz(tmp_path, train=bits)
    fails(
        f"{name!r} has no array 'test' of zeros and ones with a label in its last column",
        f"unsw_nb15:path={name}",
    )


def test_command_line_takes_a_file(tmp_path, capsys):
    name = iris(tmp_path / "iris.csv")
    assert main(["data", "info", name, "--label", "species"]) == 0
    assert "3: a, b, c" in capsys.readouterr().out
