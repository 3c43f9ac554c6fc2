import copy
import json
from pathlib import Path

import pytest
from test_report_synthesis import ASIC, LUT6, some_report

from trilut.cli import main
from trilut.errors import DataError
from trilut.hdl import InputKind
from trilut.report.literature import (
    literature_datasets,
    literature_page,
    literature_tables,
    published,
)
from trilut.report.synthesis import SynthesisReport

PAGE = Path(__file__).parent.parent / "docs" / "literature.md"


def trained_report(dataset="mnist", **changes):
    document = copy.deepcopy(dict(some_report(**changes).document))
    document["accuracy"] = {"dataset": dataset, "test": 0.975}
    return SynthesisReport(document)


def cells(table, column):
    return [row[table.header.index(column)] for row in table.rows]


def test_page_in_docs_is_made_from_the_data(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(literature_page())
    assert PAGE.read_text() == literature_page()


def test_every_result_says_what_is_counted():
    for result in published():
        assert 0 < result.accuracy < 100
        assert result.encoder in ("in", "out", "none", "software", "chip")
        # LUTs of a type, or gates that are no hardware, or the energy of a chip.
        assert (result.luts is None) == (result.lut_type is None)
        counted = [result.luts, result.gates, result.nj]
        assert sum(value is not None for value in counted) == 1
        assert (result.gates is not None) == (result.encoder == "software")
        assert (result.nj is not None) == (result.encoder == "chip")
        assert result.table


def test_results_are_told_apart():
    keys = [(r.method, r.dataset, r.variant) for r in published()]
    assert len(set(keys)) == len(keys)


def test_latency_is_a_whole_number_of_cycles():
    # Sources round to tenths of a nanosecond or to whole ones: a check of the transcription.
    for result in published():
        if result.ns is None or result.mhz is None or result.mhz <= 200:
            continue
        cycles = result.ns * result.mhz / 1000
        slack = (0.05 if result.ns % 1 else 0.5) * result.mhz / 1000
        assert round(cycles) >= 1
        assert abs(cycles - round(cycles)) <= slack + 0.01, result


def test_ours_stands_only_with_its_conventions():
    whole, core, software, chips = literature_tables("mnist", [trained_report(**LUT6)])
    assert cells(whole, "result")[-1] == "ours: net <b>"
    assert cells(whole, "accuracy %")[-1] == "97.50"
    ratios = dict(zip(cells(whole, "result"), cells(whole, "LUTs / ours"), strict=True))
    assert ratios["FINN"] == f"{91131 / 34:.2f}"
    assert ratios["ours: net <b>"] == "1.00"
    for table in (core, software, chips):
        assert "LUTs / ours" not in table.header
        assert table.notes[-1] == (
            "NOT COMPARABLE with ours, which are counted otherwise: no ratio is given."
        )


def test_energy_of_ours_is_said_to_be_an_estimate():
    whole = literature_tables("mnist", [trained_report(**ASIC)])[0]
    assert cells(whole, "nJ")[-1] == "0.002"
    assert whole.notes[-1] == (
        "Our energy is an estimate for the cells of a netlist, without wires, clock tree and pads; "
        "that of a chip is measured with all of them."
    )
    chips = literature_tables("mnist")[-1]
    assert cells(chips, "nJ") == ["268", "108,000"]


def test_another_type_of_lut_has_no_ratio():
    whole = literature_tables("mnist", [trained_report()])[0]
    ratios = cells(whole, "LUTs / ours")
    assert set(ratios[:-1]) == {"LUT6 is not LUT4"}


def test_ours_without_an_encoder_stands_with_those():
    _, core, *_ = literature_tables("mnist", [trained_report(input_kind=InputKind.TRITS, **LUT6)])
    assert cells(core, "result")[-1] == "ours: net <b>"
    ratios = dict(zip(cells(core, "variant"), cells(core, "LUTs / ours"), strict=True))
    assert ratios["n=6 sm"] == f"{692 / 34:.2f}"


def test_rows_are_not_ranked():
    for dataset in literature_datasets():
        for table in literature_tables(dataset):
            years = [int(year) for year in cells(table, "year")]
            assert years == sorted(years)


def test_unknown_data_set():
    names = ", ".join(literature_datasets())
    with pytest.raises(DataError) as caught:
        literature_tables("moons")
    assert str(caught.value) == f"No published result on 'moons', only on {names}"


def test_report_on_another_data_set():
    with pytest.raises(DataError) as caught:
        literature_tables("mnist", [trained_report("digits")])
    assert str(caught.value) == (
        "Synthesis report 'net <b> on ecp5' is of 'digits', not of 'mnist'"
    )
    with pytest.raises(DataError) as caught:
        literature_tables("mnist", [some_report()])
    assert str(caught.value) == (
        "Synthesis report 'net <b> on ecp5' is of a data set that it does not name, not of 'mnist'"
    )


def test_literature_command(tmp_path, capsys):
    path = tmp_path / "synthesis.json"
    path.write_text(json.dumps(trained_report(**LUT6).document))
    assert main(["literature", "mnist", "--beside", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {result["dataset"] for result in document["published"]} == {"mnist"}
    assert len(document["ours"]) == 1
    assert main(["literature", "--beside", str(path)]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: Name the data set that the reports of --beside are of\n"
    )
    assert main(["literature", "--markdown"]) == 0
    assert capsys.readouterr().out == PAGE.read_text()
