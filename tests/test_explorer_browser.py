"""The explorer as people use it, in headless Chromium."""

import numpy as np
import pytest
from browser import browser
from regression.make import HERE
from test_report_explorer import EVIL, evil_netlist

from trilut import load, save
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.cli import main
from trilut.sim.tracing import trace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def driver():
    with browser() as found:
        yield found


def open_page(driver, net, tmp_path, fragment=""):
    page = tmp_path / "page.html"
    assert main(["explorer", str(net), "-o", str(page)]) == 0
    # A new address after # alone would not load the page again.
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}{fragment}")
    return driver


def text(driver, element):
    return driver.execute_script(f"return document.getElementById({element!r}).textContent")


def click(driver, element):
    driver.execute_script(f"document.getElementById({element!r}).click()")


def shown_values(driver):
    return driver.execute_script("return [...explorer.values]")


def integers(driver):
    return driver.execute_script("return explorer.inputs.values")


def messages(driver):
    return [entry["message"] for entry in driver.get_log("browser")]


def vectors(netlist, rows):
    samples = [[np.nan if x is None else x for x in row] for row in rows]
    scale = np.array([feature.scale for feature in netlist.encoder.features])
    offset = np.array([feature.offset for feature in netlist.encoder.features])
    return netlist.encoder.quantize((np.array(samples, dtype=float) + 0.5 - offset) / scale)


def test_samples_sensors_and_margin(driver, tmp_path):
    path = HERE / "missing_features.trilut"
    netlist = load(path)
    open_page(driver, path, tmp_path)
    for press in ("next", "next", "some-off", "some-off", "previous", "all-off", "all-on"):
        click(driver, press)
        rows = vectors(netlist, [integers(driver)])
        trits = netlist.encoder.trits(rows)
        assert np.array_equal(shown_values(driver), netlist.values(trits)[0])
        decision = netlist.classify(trits)
        chosen = netlist.head.classes[decision.chosen[0]]
        expected = "abstains" if decision.unknown[0] else chosen
        assert text(driver, "answer") == expected
        scores = driver.execute_script(
            "return [...document.querySelectorAll('#scores output')].map((each) => each.value)"
        )
        assert [int(score) for score in scores] == decision.scores[0].tolist()
    margin = int(decision.margin[0])
    driver.execute_script(
        "const range = document.getElementById('margin');"
        f"range.value = {margin + 1}; range.dispatchEvent(new Event('input'))"
    )
    assert text(driver, "answer") == "abstains"
    assert text(driver, "instead") == (
        f"{chosen} has the highest score, but the margin {margin} is below {margin + 1}"
    )
    assert messages(driver) == []


def test_sliders_and_switches(driver, tmp_path):
    open_page(driver, HERE / "ternary_two_classes.trilut", tmp_path)
    driver.execute_script(
        "const range = document.querySelector('#rows input[type=range]');"
        "range.value = 200; range.dispatchEvent(new Event('input'))"
    )
    assert integers(driver)[0] == 200
    driver.execute_script("document.querySelector('#rows input[type=checkbox]').click()")
    assert integers(driver)[0] is None
    assert text(driver, "off-count") == "1 sensor off"
    driver.execute_script("document.querySelector('#rows input[type=checkbox]').click()")
    assert integers(driver)[0] == 200


def test_drawing_a_digit(driver, tmp_path):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    open_page(driver, HERE / "ternary_ten_classes.trilut", tmp_path)
    click(driver, "clear")
    assert set(integers(driver)) == {0}
    pad = driver.find_element(By.ID, "pad")
    stroke = ActionChains(driver).move_to_element_with_offset(pad, 0, -60).click_and_hold()
    stroke.move_by_offset(0, 120).release().perform()
    drawn = np.array(integers(driver)).reshape(8, 8)
    assert (drawn[2:6, 3:5].max(axis=1) > 0).all()
    assert not drawn[:, [0, 7]].any()
    driver.execute_script("document.querySelector('input[value=off]').click()")
    ActionChains(driver).move_to_element_with_offset(pad, 0, 0).click().perform()
    assert None in integers(driver)


def test_a_net_says_what_it_is_and_why(driver, tmp_path):
    path = HERE / "ternary_two_classes.trilut"
    netlist = load(path)
    open_page(driver, path, tmp_path)
    click(driver, "all-off")
    values = shown_values(driver)
    gate = next(net for net in range(netlist.num_inputs, netlist.num_nets) if values[net] == 0)
    driver.execute_script(f"explorer.select({gate})")
    assert text(driver, "net-title") == f"net {gate}: UNKNOWN"
    assert text(driver, "why") == "Why is this UNKNOWN?"
    cells = driver.execute_script(
        "return [...document.querySelectorAll('#table td')].map((each) => each.textContent)"
    )
    signs = {-1: "−", 0: "0", 1: "+"}
    table = netlist.table[gate - netlist.num_inputs]
    assert cells == [signs[value] for value in table.tolist()]
    click(driver, "why")
    expected = trace(netlist, vectors(netlist, [integers(driver)]), gate)
    steps = driver.execute_script(
        "return [...document.querySelectorAll('#trace button')].map((each) => each.textContent)"
    )
    assert steps == [f"net {step.net} = {signs[step.value]}" for step in expected.steps]


def test_state_is_in_the_address(driver, tmp_path):
    path = HERE / "ternary_ten_classes.trilut"
    open_page(driver, path, tmp_path)
    click(driver, "some-off")
    driver.execute_script("explorer.select(200); explorer.margin = 3; explorer.toggleWhy()")
    driver.execute_script("explorer.drawing.zoom(2); explorer.save()")
    before = integers(driver), driver.execute_script("return explorer.drawing.view")
    wait = "setTimeout(arguments[0], 400)"
    driver.execute_async_script(wait)
    fragment = driver.execute_script("return location.hash")
    open_page(driver, path, tmp_path, fragment)
    driver.execute_async_script(wait)
    assert integers(driver) == before[0]
    state = driver.execute_script("return [explorer.selected, explorer.margin, explorer.isWhy]")
    assert state == [200, 3, True]
    assert driver.execute_script("return explorer.drawing.view") == pytest.approx(
        before[1], rel=1e-3
    )


@pytest.mark.parametrize("fragment", ["#x=1&m=x&n=99999&v=a,b", "#x=0*64,3", "#v=1,2,-3&n=-1&m=0"])
def test_an_address_of_another_circuit_does_no_harm(driver, tmp_path, fragment):
    open_page(driver, HERE / "ternary_ten_classes.trilut", tmp_path, fragment)
    driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert driver.execute_script("return [explorer.selected, explorer.margin]") == [-1, 1]
    assert text(driver, "sample").startswith("sample 1 of 24")
    assert messages(driver) == []


def test_keyboard(driver, tmp_path):
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.by import By

    open_page(driver, HERE / "ternary_two_classes.trilut", tmp_path)
    press = lambda *keys: ActionChains(driver).send_keys(*keys).perform()  # noqa: E731
    press("n")
    assert text(driver, "sample").startswith("sample 2 of 24")
    press("/", "net 30", Keys.ENTER)
    assert driver.execute_script("return explorer.selected") == 30
    driver.find_element(By.ID, "drawing").send_keys(Keys.ARROW_LEFT)
    assert driver.execute_script("return explorer.selected < 30")
    driver.find_element(By.ID, "drawing").send_keys(Keys.ESCAPE)
    assert driver.execute_script("return explorer.selected") == -1


def test_search_finds_by_name(driver, tmp_path):
    open_page(driver, HERE / "missing_features.trilut", tmp_path)
    find = (
        "const search = document.getElementById('search'); search.value = arguments[0];"
        "explorer.search(); return explorer.found.map((each) => each.text)"
    )
    assert "feature mean radius" in driver.execute_script(find, "RADIUS")
    assert driver.execute_script(find, "benign") == ["class benign"]
    assert driver.execute_script(find, "gate 3")[0].startswith("net ")
    assert driver.execute_script(find, "no such thing") == []
    assert text(driver, "found") == "nothing found"


def test_pointing_lights_the_cone(driver, tmp_path):
    path = HERE / "ternary_two_classes.trilut"
    netlist = load(path)
    open_page(driver, path, tmp_path)
    net = int(netlist.outputs[0])
    lit = driver.execute_script(
        f"explorer.hover(explorer.drawing.pick(...explorer.drawing.place({net})));"
        "return [...explorer.drawing.marks.focus.keys()]"
    )
    cone, waiting = set(), [net]
    while waiting:
        each = waiting.pop()
        cone.add(each)
        if each >= netlist.num_inputs:
            waiting += netlist.reads(each - netlist.num_inputs)
    assert {each for each in lit if each < netlist.num_nets} == cone


def test_evil_names_are_shown_and_not_run(driver, tmp_path):
    save(evil_netlist(), tmp_path / "net.trilut")
    open_page(driver, tmp_path / "net.trilut", tmp_path)
    driver.execute_script("explorer.select(2); explorer.toggleWhy(); explorer.search()")
    assert text(driver, "answer") in ("abstains", EVIL.replace("\u202e", "\\u202e"))
    assert driver.execute_script("return document.querySelectorAll('img').length") == 0
    assert driver.execute_script("return document.scripts.length") == 2
    assert messages(driver) == []


def test_circuit_with_state_steps(driver, tmp_path):
    # The state becomes TRUE once the input is, and stays so.
    either = [[-1, 0, 1, 0, 0, 1, 1, 1, 1]]
    save(
        SequentialNetlist(Netlist.of_gates(2, either, [0], [1], [2, 2]), [-1]),
        tmp_path / "net.trilut",
    )
    open_page(driver, tmp_path / "net.trilut", tmp_path)
    states = []
    for value in (-1, 0, 1, -1):
        driver.execute_script(f"explorer.inputs.set(0, {value})")
        click(driver, "step")
        states.append(driver.execute_script("return explorer.states"))
    assert states == [[-1], [0], [1], [1]]
    assert text(driver, "step-count") == "step 4"


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_sticks_out_of_the_page(tmp_path, width, is_dark):
    with browser(width, 800, is_dark=is_dark) as driver:
        open_page(driver, HERE / "ternary_ten_classes.trilut", tmp_path)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        driver.execute_async_script("setTimeout(arguments[0], 600)")
        drawn = driver.execute_script(
            "const canvas = document.getElementById('drawing');"
            "const context = canvas.getContext('2d');"
            "const { data } = context.getImageData(0, 0, canvas.width, canvas.height);"
            "return new Set(new Uint32Array(data.buffer)).size"
        )
        assert drawn > 20
        paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(20, 23, 26)" if is_dark else "rgb(255, 255, 255)")
