"""What the page costs, in a real browser: `python -m tests.perf.page`.

SLAKE complete (2,094 samples, replies in both languages), and 10,000 samples made of it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.browser.conftest import FLAGS

ROOT = Path(__file__).parent.parent.parent
DATA = (ROOT / os.environ.get("VQA_REAL_DATA", "../shared/data")).resolve()
RUNS = 5

FILTER = """
const started = performance.now();
document.querySelector('#facets .facet:not([hidden]) label:not([hidden]) input').click();
document.body.offsetHeight;
return performance.now() - started;
"""
SCROLL = """
const done = arguments[0], times = [];
let last = performance.now(), steps = 0;
const step = (now) => {
  times.push(now - last);
  last = now;
  scrollBy(0, 400);
  if (++steps < 120) requestAnimationFrame(step); else done(times.slice(1));
};
requestAnimationFrame(step);
"""


def make_data(folder: Path, copies: int) -> None:
    """SLAKE, its rows `copies` times, and replies of which half are right."""
    rows = json.loads((DATA / "slake" / "test.json").read_text())
    many = [{**row, "qid": row["qid"] + 100_000 * copy} for copy in range(copies) for row in rows][:10_000]
    data = folder / "slake"
    data.mkdir()
    data.joinpath("test.json").write_text(json.dumps(many))
    data.joinpath("imgs.zip").symlink_to(DATA / "slake" / "imgs.zip")
    replies = [
        {"id": str(row["qid"]), "reply": f"I see it.\nANSWER: {row['answer'] if n % 2 else 'none'}"}
        for n, row in enumerate(many)
    ]
    folder.joinpath("replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))


def make_page(folder: Path) -> tuple[Path, float]:
    """The page of a run, and the seconds that writing it takes."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--vqa-benchmark=slake"]
    command = [*pytest, f"--vqa-data={folder}", "--vqa-model=replay:replies.jsonl"]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    started = time.perf_counter()
    html = [sys.executable, "-m", "pytest_vqaeval", "html", "latest", "-o", "page.html"]
    subprocess.run(html, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return folder / "page.html", time.perf_counter() - started


def browser(profile: str) -> Any:
    """A fresh browser."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, "--window-size=1280,900", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))


def measure(driver: Any, file: Path) -> dict[str, float]:
    """Milliseconds: until the page is ready, of a filter, and of a frame while it scrolls."""
    ready, filtered = [], []
    for _ in range(RUNS):
        driver.get("about:blank")
        driver.get(file.as_uri())
        while not (value := driver.execute_script("return document.documentElement.dataset.readyMs")):
            time.sleep(0.02)
        ready.append(float(value))
        filtered += [driver.execute_script(FILTER) for _ in range(4)]
    frames = driver.execute_async_script(SCROLL)
    return {
        "ready": statistics.median(ready),
        "filter": statistics.median(filtered),
        "slowest filter": max(filtered),
        "frame": statistics.median(frames),
        "cards in the document": driver.execute_script("return document.querySelectorAll('.card').length"),
    }


def main() -> None:
    """Print the table."""
    for copies, bound in ((1, 1500), (5, 4000)):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as profile:
            make_data(Path(folder), copies)
            file, seconds = make_page(Path(folder))
            size = file.stat().st_size / 1e6
            driver = browser(profile)
            try:
                found = measure(driver, file)
            finally:
                driver.quit()
            samples = min(10_000, 2094 * copies)
            print(f"{samples:,} samples: page written in {seconds:.1f} s, {size:.1f} MB")
            print(f"  interactive after {found['ready']:.0f} ms (bound {bound})")
            print(f"  filter {found['filter']:.0f} ms (bound 100), slowest {found['slowest filter']:.0f} ms")
            cards = found["cards in the document"]
            print(f"  scrolling: {found['frame']:.0f} ms a frame, {cards:.0f} cards in the document")


if __name__ == "__main__":
    main()
