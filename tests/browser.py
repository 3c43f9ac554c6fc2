"""A headless Chromium for tests and benchmarks of pages; without one, tests skip and name it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def browser(width: int = 1400, height: int = 860, *, is_dark: bool = False) -> Iterator[Any]:
    """Give a Selenium driver of Debian's Chromium, with a page of some size."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no Python package selenium")
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    for name, path in programs.items():
        if path is None:
            pytest.skip(f"no {name}, which Debian's packages chromium and chromium-driver have")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=programs["chromedriver"])
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.set_script_timeout(60)
        yield driver
    finally:
        driver.quit()
