"""The page of a real run of SLAKE (stored replies of a published model) in a real browser."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_vqaeval.reports.page import write_page
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import StoredRun, find_run, read_run
from pytest_vqaeval.summary import About
from tests.browser.conftest import Page
from tests.realdata import real_data

pytest_plugins = ["pytester"]

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"'><svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "\u202egnp.exe \u2066x",
    "\x00\x1b[2J\ud800",
    "many words " * 9_100,
]


@pytest.fixture(scope="module")
def slake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on SLAKE's English half: the published replies, and the same with every tenth changed."""
    import subprocess
    import sys

    replies = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl")
    folder = tmp_path_factory.mktemp("slake")
    answers = {str(row["qid"]): row["answer"] for row in json.loads(real_data("slake", "test.json").read_text())}
    rows = [json.loads(line) for line in replies.read_text().splitlines()]
    changed = [
        {**row, "reply": f"I see.\nANSWER: {answers[row['id']]}" if n % 20 else "no idea"} if n % 10 == 0 else row
        for n, row in enumerate(rows)
    ]
    folder.joinpath("huatuo.jsonl").write_text(replies.read_text())
    folder.joinpath("changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    for name in ("huatuo", "changed"):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--vqa-out={folder / name}"]
        command += ["--vqa-benchmark=slake", f"--vqa-data={real_data('slake').parent}", "-k", "en_"]
        subprocess.run([*command, f"--vqa-model=replay:{name}.jsonl"], cwd=folder, capture_output=True, check=False)
    runs = [read_run(find_run(folder / name, "latest").path) for name in ("huatuo", "changed")]
    write_page(folder / "one.html", runs[:1])
    write_page(folder / "two.html", runs)
    return folder


def test_the_figures_and_the_cards(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    assert page.count() == "1,061 samples"
    assert page.text(".figure strong") == "49.86 %"
    assert "529 of 1,061 correct" in page.text(".headline")
    assert slake.joinpath("one.html").stat().st_size < 8_000_000
    assert page.js("return document.querySelectorAll('.card').length") < 40
    first = page.text(".card")
    assert "What modality is used to take this image?" in first
    assert page.all(".card")[0].get_attribute("aria-setsize") == "1061"
    page.shoot("light")


NEXT_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
TOP_OF = "return document.querySelector(`.card[data-number='${arguments[0]}']`)?.getBoundingClientRect().top"


def scroll(page: Page, pixels: int) -> float:
    """Scroll, and give the pixels by which a card that stays in sight has moved beyond that: a jump."""
    page.js("scrollBy(0, arguments[0])", pixels)
    number, before = page.js(
        "const card = [...document.querySelectorAll('.card')].find((c) => c.getBoundingClientRect().top > 100);"
        "return [card.dataset.number, card.getBoundingClientRect().top]"
    )
    page.driver.execute_async_script(NEXT_FRAMES)
    return float(page.js(TOP_OF, number) - before)


def test_every_card_can_be_scrolled_to(slake: Path, page: Page) -> None:
    """Step by step to the end: no card is left out, none comes twice, and the cards do not jump."""
    page.open(slake / "one.html", "#outcome=wrong&subset=en_closed")
    seen: set[int] = set()
    page.js("document.getElementById('samples').scrollIntoView()")
    for _ in range(60):
        page.driver.execute_async_script(NEXT_FRAMES)
        places = page.js("return [...document.querySelectorAll('.card')].map(c => Number(c.ariaPosInSet))")
        assert places == list(range(places[0], places[0] + len(places)))
        seen.update(places)
        if page.js("return innerHeight + scrollY >= document.documentElement.scrollHeight - 800"):
            break
        assert abs(scroll(page, 700)) < 2
    assert seen == set(range(1, 107))


def test_cards_whose_height_was_only_guessed_do_not_jump(slake: Path, page: Page) -> None:
    """Upwards from the last card: those above were never shown, and unfolded replies make them higher than guessed."""
    page.open(slake / "two.html", "#at=slake/en_closed/12992/1", width=700)
    last = page.js("return Number([...document.querySelectorAll('.card')].pop().dataset.number)")
    assert last > 500
    for _ in range(15):
        page.js("document.querySelectorAll('.card details').forEach((d) => { d.open = true; })")
        page.driver.execute_async_script(NEXT_FRAMES)
        assert abs(scroll(page, -600)) < 2


def test_filter_search_and_sort(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    page.choose("wrong")
    assert page.count() == "532 of 1,061 samples"
    page.choose("en_closed")
    assert page.count() == "106 of 1,061 samples"
    page.choose("MRI")
    assert page.js("return location.hash") == "#outcome=wrong&subset=en_closed&g.modality=MRI"
    page.all("#search")[0].send_keys("LIVER")
    page.until("return location.hash.includes('q=LIVER')")
    shown = int(page.count().split()[0])
    assert 0 < shown < 30
    assert all("liver" in card.text.lower() for card in page.all(".card"))
    kept = page.js("return location.href")
    page.all("#reset")[0].click()
    assert page.count() == "1,061 samples"
    page.js("const sort = document.getElementById('sort'); sort.value = 'id'; sort.dispatchEvent(new Event('change'))")
    ids = page.js("return [...document.querySelectorAll('.card .id')].map(e => Number(e.textContent))")
    assert ids == sorted(ids)
    page.driver.get("about:blank")
    page.driver.get(kept)  # the view is shared by its address
    page.until("return document.documentElement.dataset.readyMs")
    assert page.count() == f"{shown} of 1,061 samples"
    assert page.all("#search")[0].get_attribute("value") == "LIVER"


def test_a_row_of_a_table_shows_its_samples(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    next(button for button in page.all("tbody button") if button.text == "KG").click()
    assert page.js("return location.hash") == "#g.content_type=KG"
    assert page.count() == "148 of 1,061 samples"


def test_the_keyboard_goes_from_one_wrong_answer_to_the_next(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    places = []
    for key in "jjnjkp":
        page.press(key)
        card = page.driver.switch_to.active_element
        assert "wrong" in card.text
        box = page.js("return arguments[0].getBoundingClientRect().toJSON()", card)
        assert 0 <= box["top"] < 400
        places.append(int(card.get_attribute("aria-posinset")))
    assert places[:4] == sorted(set(places[:4]))
    assert places[4:] == [places[2], places[1]]
    page.press("/")
    page.press("j")
    assert page.all("#search")[0].get_attribute("value") == "j"  # no command while typing


def test_the_picture_is_enlarged(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    page.all(".thumb")[0].click()
    dialog = page.all("#picture")[0]
    assert dialog.is_displayed()
    page.until("return document.querySelector('#picture img').naturalWidth > 300")
    assert "What modality" in dialog.text
    page.shoot("picture")
    page.press("\ue00c")  # Escape
    assert not dialog.is_displayed()


def test_a_reply_unfolds_and_stays_so(slake: Path, page: Page) -> None:
    page.open(slake / "one.html")
    page.all(".card summary")[0].click()
    page.until("return document.querySelector('.card .reply')")
    assert page.text(".card .reply") == "CT"
    page.js("scrollTo(0, 30000)")
    page.until("return !document.querySelector('.card[data-number=\"0\"]')")
    page.js("scrollTo(0, 0)")
    page.until("return document.querySelector('.card[data-number=\"0\"] .reply')")


def test_two_runs_are_compared(slake: Path, page: Page) -> None:
    page.open(slake / "two.html")
    said = page.text("#compared")
    assert "On the 1,061 samples that both answered: 49.86 % → " in said
    worse, better = (
        int(word.split()[0]) for word in said.split("). ")[1].replace(" got better.", "").split(" got worse, ")
    )
    assert worse > 10
    assert better > 10
    page.choose("got worse")
    assert page.count() == f"{worse} of 1,061 samples"
    answers = page.all(".card .answer")[:2]
    assert "correct" in answers[0].text
    assert "wrong" in answers[1].text
    assert answers[0].location["y"] == answers[1].location["y"]  # side by side
    page.shoot("compared")


@pytest.mark.parametrize(
    ("width", "dark", "name"), [(1280, True, "dark"), (390, False, "narrow"), (390, True, "narrow-dark")]
)
@pytest.mark.parametrize("file", ["one.html", "two.html"])
def test_nothing_is_wider_than_the_window(
    slake: Path, page: Page, file: str, width: int, dark: bool, name: str
) -> None:
    page.open(slake / file, width=width, dark=dark)
    assert page.js("return document.documentElement.scrollWidth") <= width
    page.shoot(f"{name}-{file.removesuffix('.html')}")
    page.js("document.getElementById('samples').scrollIntoView()")
    page.until("return document.querySelectorAll('.card').length > 2")
    assert page.js("return document.documentElement.scrollWidth") <= width
    page.shoot(f"{name}-{file.removesuffix('.html')}-samples")


def test_long_names_of_parts_are_broken(tmp_path: Path, slake: Path, page: Page) -> None:
    """Tables and cards stay on a narrow screen whatever a subset is called."""
    run = read_run(find_run(slake / "huatuo", "latest").path)
    name = "a_subset_of_a_very_long_name_without_any_space"
    results = [replace(result, subset=name) for result in run.results[:50]]
    write_page(tmp_path / "long.html", [replace(run, results=results)])
    page.open(tmp_path / "long.html", width=390)
    assert page.js("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_enough_contrast(slake: Path, page: Page, dark: bool) -> None:
    """WCAG 2.2 AA: 4.5 to 1 (3 to 1 for large text), against the nearest background that is not transparent."""
    page.open(slake / "two.html", "#outcome=wrong", dark=dark)
    page.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert page.js(CONTRAST) == []


CONTRAST = """
const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const parse = (colour, under) => {
  context.fillStyle = under ? `rgb(${under.join(',')})` : '#000';
  context.fillRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const backdrop = (element) => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.unshift(getComputedStyle(e).backgroundColor);
  return chain.reduce((under, colour) => parse(colour, under), [255, 255, 255]);
};
const poor = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest('script, style, [hidden], .hidden, dialog, svg')) continue;
  const style = getComputedStyle(element);
  const under = backdrop(element);
  const [a, b] = [light(parse(style.color, under)), light(under)].sort((x, y) => y - x);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < (large ? 3 : 4.5)) poor.add(`${element.className || element.tagName}: ${ratio.toFixed(2)}`);
}
return [...poor];
"""


def test_everything_has_a_name_for_screen_readers(slake: Path, page: Page) -> None:
    page.open(slake / "two.html", "#outcome=wrong")
    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "checkbox", "combobox", "searchbox", "article", "feed", "image", "dialog", "region", "table"}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored") and node["role"]["value"] in roles and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    headings = [node for node in tree if node.get("role", {}).get("value") == "heading"]
    assert len(headings) > 3
    assert page.js("return document.documentElement.lang") == "en"


def test_what_a_judge_says_is_on_the_card(tmp_path: Path, page: Page) -> None:
    """Also without the benchmark's data, which nobody has here."""
    details = {"by the rule": "wrong", "judge qwen3": "correct: a thorax is the chest"}
    row = Result(
        benchmark="b", subset="s", id="1", model="m", nodeid="b::s[1]", cluster="c", outcome=Outcome.CORRECT,
        score=1.0, reply="Thorax", extracted="Thorax", reference=["Chest"], details=details,
    )  # fmt: skip
    write_page(tmp_path / "page.html", [StoredRun(tmp_path, {}, [About("b", "B", "short_answer", 1)], [row])])
    page.open(tmp_path / "page.html")
    assert page.text(".judge") == "Judge\ncorrect: a thorax is the chest"
    assert "questions and pictures can't be read again" in page.text(".top")


def test_hostile_replies_run_nothing(pytester: pytest.Pytester, page: Page) -> None:
    root = pytester.path
    rows = [{"id": text[:60], "messages": [{"role": "user", "content": text}], "answer": "a"} for text in HOSTILE]
    root.joinpath("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    root.joinpath("conftest.py").write_text(
        "import json, pytest\nREPLIES = iter(json.loads(" + repr(json.dumps(HOSTILE)) + "))\n"
        "def hostile(question, text): return False\n"
        "@pytest.fixture(scope='session')\ndef vqa_model():\n    return lambda messages: next(REPLIES)\n"
    )
    pytester.runpytest_subprocess("q.jsonl", "--vqa-model=</title><b>m", "--vqa-html=page.html")
    page.open(root / "page.html")
    assert page.count() == "8 samples"
    for card in range(8):
        page.js(f"document.querySelector('.card[data-number=\"{card}\"] summary')?.click()")
        page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        page.js(f"document.querySelector('.card[data-number=\"{card}\"]')?.scrollIntoView()")
        page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert page.js("return window.hacked") is None
    assert (
        page.js("return document.querySelectorAll('.card script, .card svg, .card img[src=x], header b').length") == 0
    )
    assert page.js("return document.documentElement.scrollWidth") <= 1280
    page.shoot("hostile")
