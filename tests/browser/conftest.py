"""A real browser: Debian's chromium, driven by selenium. Without one the tests are skipped, or fail in CI."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def missing() -> str | None:
    """What is not installed."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium (the extra `browser`)"
    return next((f"{name} (Debian's package)" for name in ("chromium", "chromedriver") if not shutil.which(name)), None)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The browser, one for all tests, with a profile of its own."""
    if what := missing():
        say = pytest.fail if os.environ.get("VQA_REQUIRE_BROWSER") else pytest.skip
        say(f"needs a browser: there is no {what}")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    yield browser
    browser.quit()


class Page:
    """A page in the browser, and what people do with it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path, fragment: str = "", *, width: int = 1280, dark: bool = False) -> Page:
        """Open a file from disk, as a visitor would."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get("about:blank")
        self.logs()  # of the page before
        self.driver.get(f"{file.as_uri()}{fragment}")
        self.until("return document.documentElement.dataset.readyMs")
        return self

    def js(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> Any:
        """Wait until a script gives something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20, 0.02).until(lambda _: self.js(script))

    def all(self, selector: str) -> list[Any]:
        """The elements of a CSS selector."""
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def text(self, selector: str) -> str:
        """The text of the first element."""
        return str(self.all(selector)[0].text)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def choose(self, name: str) -> None:
        """Tick a filter by what its label begins with."""
        labels = [label for label in self.all("#facets label") if label.text.split("\n")[0] == name]
        assert labels, f"no filter {name}: {[label.text for label in self.all('#facets label')]}"
        labels[0].click()

    def count(self) -> str:
        """`915 of 2,094 samples`."""
        return self.text("#count")

    def logs(self) -> tuple[list[str], list[str]]:
        """What the console says, and the addresses of all requests, since the last call."""
        import json

        console = [entry["message"] for entry in self.driver.get_log("browser")]
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return console, [url for url in sent if not url.startswith(("data:", "about:"))]

    def shoot(self, name: str) -> None:
        """A screenshot into the folder of `VQA_SCREENSHOTS`, if there is one."""
        if folder := os.environ.get("VQA_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    """The browser's page; whatever a test does with it, the console stays empty and nothing but files is asked for."""
    opened = Page(driver)
    yield opened
    console, requests = opened.logs()
    assert console == []
    assert [url for url in requests if not url.startswith("file:")] == []
