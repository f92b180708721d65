// The page: what is shown of the samples is told by its fragment alone, so that a view can be shared.

const CHANGES = { worse: "got worse", better: "got better", right: "both right", wrong: "both wrong", equal: "equal" };
const NO_VALUE = "(none)";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const page = { ...read("data"), pictures: read("pictures") };
const element = (id) => document.getElementById(id);
const collator = new Intl.Collator("en", { numeric: true });

page.samples.forEach((sample, number) => {
  sample.number = number;
});

// ---------------------------------------------------------------------------------------------------- the fragment

const state = { filters: {}, search: "", sort: "", at: "", a: null, b: 0 };

/** `#outcome=wrong&outcome=empty&q=lung&sort=slow&a=0&b=1&at=12` */
function readState() {
  const query = new URLSearchParams(location.hash.slice(1));
  state.filters = {};
  for (const facet of facets) {
    const values = query.getAll(facet.key);
    if (values.length) state.filters[facet.key] = new Set(values);
  }
  state.search = query.get("q") ?? "";
  state.sort = query.get("sort") ?? "";
  state.at = query.get("at") ?? "";
  const last = page.columns.length - 1;
  const column = (name, otherwise) => {
    const number = query.has(name) ? Number.parseInt(query.get(name), 10) : otherwise;
    return number >= 0 && number <= last ? number : null;
  };
  state.a = column("a", last ? 0 : null);
  state.b = column("b", last) ?? last;
  if (state.a === state.b) state.a = null;
}

function writeState() {
  const query = new URLSearchParams();
  for (const [key, values] of Object.entries(state.filters)) for (const value of values) query.append(key, value);
  if (state.search) query.set("q", state.search);
  if (state.sort) query.set("sort", state.sort);
  const last = page.columns.length - 1;
  if (last && (state.a !== 0 || state.b !== last)) {
    query.set("a", state.a ?? "none");
    query.set("b", state.b);
  }
  if (state.at) query.set("at", state.at);
  history.replaceState(null, "", `#${query}`);
}

// --------------------------------------------------------------------------------------------- which samples, which order

const answerOf = (sample) => sample.answers[state.b];
const outcomeOf = (sample) => answerOf(sample)?.outcome ?? "absent";

/** How right an answer is, 0 to 1; null without a verdict. */
function rightness(answer) {
  if (!answer) return null;
  if (answer.outcome === "correct") return 1;
  if (COUNTS_WRONG.has(answer.outcome)) return 0;
  return answer.outcome === "scored" ? (answer.score ?? null) : null;
}

function changeOf(sample) {
  if (state.a === null) return null;
  const before = rightness(sample.answers[state.a]);
  const after = rightness(answerOf(sample));
  if (before === null || after === null) return null;
  if (after !== before) return after > before ? "better" : "worse";
  return after === 1 ? "right" : after === 0 ? "wrong" : "equal";
}

/** What can be filtered by: `key` in the fragment, and the value of a sample. */
function makeFacets() {
  const fields = new Set(page.samples.flatMap((sample) => Object.keys(sample.fields ?? {})));
  const always = [
    { key: "change", title: "Change", value: (sample) => sample.change, names: CHANGES },
    { key: "outcome", title: "Outcome", value: outcomeOf, names: OUTCOMES },
    { key: "benchmark", title: "Benchmark", value: (sample) => sample.benchmark },
    { key: "category", title: "Category", value: (sample) => sample.category ?? NO_VALUE },
    { key: "subset", title: "Subset", value: (sample) => sample.subset },
  ];
  const own = [...fields].map((name) => ({
    key: `g.${name}`,
    title: name,
    value: (sample) => sample.fields?.[name] ?? NO_VALUE,
  }));
  return [...always, ...own];
}

const facets = makeFacets();

/** Lower-case text of each sample, made at the first search. */
let texts = null;

function textOf(sample) {
  texts ??= page.samples.map((one) =>
    [
      one.id,
      one.question,
      ...one.references,
      ...(one.options ?? []).flat(),
      ...one.answers.flatMap((answer) => [answer?.extracted, answer?.reply, answer?.error]),
    ]
      .filter(Boolean)
      .join("\n")
      .toLowerCase(),
  );
  return texts[sample.number];
}

const ORDERS = {
  id: (a, b) => collator.compare(a.id, b.id),
  slow: (a, b) => number(answerOf(b)?.latency_s, -1) - number(answerOf(a)?.latency_s, -1),
  fast: (a, b) => number(answerOf(a)?.latency_s, Infinity) - number(answerOf(b)?.latency_s, Infinity),
  long: (a, b) => number(answerOf(b)?.length, -1) - number(answerOf(a)?.length, -1),
  short: (a, b) => number(answerOf(a)?.length, Infinity) - number(answerOf(b)?.length, Infinity),
};
const number = (value, otherwise) => value ?? otherwise;

/** The samples that all filters leave, and for each facet how many each value has among those that the others leave. */
function select() {
  const search = state.search.trim().toLowerCase();
  const active = facets.map((facet) => state.filters[facet.key] ?? null);
  const counts = facets.map(() => new Map());
  const found = [];
  for (const sample of page.samples) {
    if (!sample.answers[state.b] && (state.a === null || !sample.answers[state.a])) continue;
    if (search && !textOf(sample).includes(search)) continue;
    let missed = -1; // the facet that leaves it out; -2 if there are several
    const values = facets.map((facet) => facet.value(sample));
    for (let index = 0; index < facets.length && missed !== -2; index++) {
      if (active[index] && !active[index].has(values[index])) missed = missed === -1 ? index : -2;
    }
    if (missed === -2) continue;
    values.forEach((value, index) => {
      if ((missed === -1 || missed === index) && value !== null && value !== undefined) {
        counts[index].set(value, (counts[index].get(value) ?? 0) + 1);
      }
    });
    if (missed === -1) found.push(sample);
  }
  const order = ORDERS[state.sort];
  if (order) found.sort((a, b) => order(a, b) || a.number - b.number);
  return { found, counts };
}

// ------------------------------------------------------------------------------------------------------ what is seen

const cards = new Cards(page, enlarge);
const list = new CardList(
  element("list"),
  (sample, place, count) => cards.make(sample, place, count),
  () => (getComputedStyle(element("bar")).position === "sticky" ? element("bar").offsetHeight : 0),
);
let current = null; // the sample that j and k go on from

function showColumns() {
  cards.columns = state.a === null ? [state.b] : [state.a, state.b];
  for (const sample of page.samples) sample.change = changeOf(sample);
  element("compared").hidden = state.a === null;
  if (state.a !== null) compare();
}

function compare() {
  const totals = { worse: 0, better: 0, right: 0, wrong: 0, equal: 0 };
  const sums = [0, 0];
  let both = 0;
  for (const sample of page.samples) {
    if (!sample.change) continue;
    both += 1;
    totals[sample.change] += 1;
    sums[0] += rightness(sample.answers[state.a]);
    sums[1] += rightness(answerOf(sample));
  }
  const percent = (sum) => (both ? `${((100 * sum) / both).toFixed(2)} %` : "–");
  const points = both ? (100 * (sums[1] - sums[0])) / both : 0;
  const strong = (text, cls) => make("strong", { cls }, text);
  element("compared").replaceChildren(
    `On the ${both.toLocaleString("en")} samples that both answered: `,
    strong(percent(sums[0])),
    " → ",
    strong(percent(sums[1])),
    ` (${points > 0 ? "+" : points < 0 ? "−" : "±"}${Math.abs(points).toFixed(2)} points). `,
    strong(`${totals.worse.toLocaleString("en")} got worse`, "worse"),
    ", ",
    strong(`${totals.better.toLocaleString("en")} got better`, "better"),
    ".",
  );
}

function showFacets(counts) {
  facets.forEach((facet, index) => {
    facet.box ??= makeFacet(facet);
    const chosen = state.filters[facet.key] ?? new Set();
    const values = facet.names ? Object.keys(facet.names).filter((value) => facet.all.has(value)) : [...facet.all];
    facet.box.hidden = facet.key === "change" ? state.a === null : facet.all.size < 2 && !chosen.size;
    if (facet.key === "change" && state.a !== null) values.splice(0, values.length, ...Object.keys(CHANGES));
    for (const value of values) {
      const row = facet.rows.get(value) ?? addValue(facet, value);
      const count = counts[index].get(value) ?? 0;
      row.input.checked = chosen.has(value);
      row.count.textContent = count.toLocaleString("en");
      row.label.classList.toggle("nothing", !count);
      row.label.hidden = facet.key === "outcome" || facet.key === "change" ? !count && !chosen.has(value) : false;
    }
  });
}

function makeFacet(facet) {
  facet.rows = new Map();
  facet.all = facet.names ? new Set(Object.keys(facet.names)) : allValues(facet);
  const box = make("fieldset", { cls: "facet" }, make("legend", {}, bdi(facet.title)));
  element("facets").append(box);
  return box;
}

function allValues(facet) {
  const values = new Map();
  for (const sample of page.samples) values.set(facet.value(sample), (values.get(facet.value(sample)) ?? 0) + 1);
  const names = [...values.keys()];
  return new Set(facet.key.startsWith("g.") ? names.sort((a, b) => values.get(b) - values.get(a)) : names);
}

function addValue(facet, value) {
  const input = make("input", { type: "checkbox" });
  const count = make("span", { cls: "count" });
  const colour = { outcome: value, change: { worse: "wrong", better: "correct" }[value] }[facet.key] ?? "";
  const name = make("span", { cls: `name ${colour}` });
  name.append(bdi(facet.names?.[value] ?? value));
  const label = make("label", {}, input, name, count);
  input.addEventListener("change", () => toggle(facet.key, value));
  facet.box.append(label);
  const row = { input, count, label };
  facet.rows.set(value, row);
  return row;
}

function toggle(key, value, only = false) {
  const values = only ? new Set() : new Set(state.filters[key]);
  if (!values.delete(value)) values.add(value);
  if (values.size) state.filters[key] = values;
  else delete state.filters[key];
  update();
}

/** Filter, sort and show; the fragment follows. */
function update({ keep = false } = {}) {
  const started = performance.now();
  if (!keep) state.at = "";
  const { found, counts } = select();
  showFacets(counts);
  const all = page.samples.length;
  const filtered = Boolean(Object.keys(state.filters).length || state.search);
  element("count").textContent =
    found.length === all
      ? `${all.toLocaleString("en")} samples`
      : `${found.length.toLocaleString("en")} of ${all.toLocaleString("en")} samples`;
  element("reset").hidden = !filtered;
  element("nothing").hidden = found.length > 0;
  list.set(found);
  current = null;
  writeState();
  document.documentElement.dataset.updateMs = (performance.now() - started).toFixed(1);
}

/** Show all that the fragment says. */
function restore() {
  readState();
  element("search").value = state.search;
  element("sort").value = state.sort;
  if (page.columns.length > 1) {
    element("a").value = state.a ?? "";
    element("b").value = state.b;
  }
  showColumns();
  update({ keep: true });
  const place = state.at ? list.items.findIndex((sample) => keyOf(sample) === state.at) : -1;
  if (place >= 0) go(place);
}

const keyOf = (sample) => [sample.benchmark, sample.subset, sample.id, sample.repeat ?? 1].join("/");

function go(place) {
  current = list.items[place];
  state.at = keyOf(current);
  list.scrollTo(place)?.focus({ preventScroll: true });
  writeState();
}

/** The next wrong answer in a direction (1 or -1), from where the reader is. */
function goWrong(direction) {
  const focused = document.activeElement?.closest?.(".card");
  if (focused) current = page.samples[Number(focused.dataset.number)];
  const from = list.items.indexOf(current);
  const start = from >= 0 ? from + direction : direction > 0 ? list.visible() : list.visible() - 1;
  for (let place = start; place >= 0 && place < list.items.length; place += direction) {
    if (COUNTS_WRONG.has(outcomeOf(list.items[place]))) {
      go(place);
      element("said").textContent = "";
      return;
    }
  }
  element("said").textContent = direction > 0 ? "No further wrong answer" : "No wrong answer before";
}

// ------------------------------------------------------------------------------------------------------ the picture

function enlarge(sample, place) {
  const dialog = element("picture");
  const [image, caption] = [dialog.querySelector("img"), dialog.querySelector("figcaption")];
  image.src = cards.picture(sample.pictures[place]);
  image.alt = `Picture of ${sample.subset} ${sample.id}`;
  caption.replaceChildren(
    make("strong", {}, bdi(sample.question ?? sample.id)),
    make("span", {}, "Reference: ", bdi(sample.references.join(" | ") || "none")),
    ...cards.columns.map((column) =>
      make("span", {}, "Answer: ", bdi(cut(sample.answers[column]?.extracted ?? "none", 200))),
    ),
    make("span", { cls: "muted" }, bdi(sample.media?.[place] ?? "")),
  );
  dialog.showModal();
}

// --------------------------------------------------------------------------------------------------------- listeners

let typing = 0;
element("search").addEventListener("input", (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.search = event.target.value;
    update();
  }, 120);
});
element("sort").addEventListener("change", (event) => {
  state.sort = event.target.value;
  update();
});
element("reset").addEventListener("click", () => {
  state.filters = {};
  state.search = element("search").value = "";
  update();
});
for (const name of ["a", "b"]) {
  element(name)?.addEventListener("change", (event) => {
    state[name] = event.target.value === "" ? null : Number(event.target.value);
    if (state.a === state.b) state.a = null;
    if (state.a === null) delete state.filters.change;
    element("a").value = state.a ?? "";
    showColumns();
    update();
  });
}
element("next").addEventListener("click", () => goWrong(1));
element("previous").addEventListener("click", () => goWrong(-1));
element("picture").addEventListener("click", () => element("picture").close());
for (const button of document.querySelectorAll("button[data-key]")) {
  button.addEventListener("click", () => {
    state.filters = { benchmark: state.filters.benchmark ?? new Set() };
    state.filters = page.benchmarks.length > 1 ? { benchmark: new Set([button.dataset.benchmark]) } : {};
    if (page.columns.length > 1 && button.dataset.column) state.b = Number(button.dataset.column);
    toggle(button.dataset.key, button.dataset.value, true);
    element("samples").scrollIntoView();
  });
}
addEventListener("hashchange", restore);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || element("picture").open) return;
  if (event.target.matches("input[type=search], select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "j" || event.key === "n") goWrong(1);
  else if (event.key === "k" || event.key === "p") goWrong(-1);
  else if (event.key === "/") element("search").focus();
  else return;
  event.preventDefault();
});

const wide = matchMedia("(min-width: 861px)"); // as in the style
const unfold = () => {
  element("filters").open = wide.matches;
};
wide.addEventListener("change", unfold);
unfold();
restore();
document.documentElement.dataset.readyMs = performance.now().toFixed(0);
