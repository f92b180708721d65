// One sample as a card: picture, question, reference, and the answer of one column, or of two side by side.

const OUTCOMES = {
  correct: "correct",
  wrong: "wrong",
  unparsed: "no answer read",
  truncated: "truncated",
  empty: "empty",
  scored: "scored",
  error: "error",
  not_run: "not run",
};
const COUNTS_WRONG = new Set(["wrong", "unparsed", "truncated", "empty"]);

/** An element with classes and attributes; texts become text nodes and are never read as HTML. */
function make(name, { cls, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  if (cls) element.className = cls;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** A text of data or model; its direction is its own. */
const bdi = (text, cls) => make("bdi", { cls, dir: "auto" }, text);

class Cards {
  /**
   * @param {object} page the data of the page
   * @param {(sample: object, place: number) => void} enlarge shows a picture of a sample
   */
  constructor(page, enlarge) {
    this.page = page;
    this.enlarge = enlarge;
    this.open = new Set(); // replies that are unfolded: they stay so when their card comes back
    this.columns = [];
  }

  /** `columns` are the numbers of those that are shown: one, or two to compare. */
  make(sample, place, count) {
    const heading = `s${sample.number}`;
    const answers = this.columns.map((column) => this.answer(sample, column));
    return make(
      "article",
      {
        cls: "card",
        tabindex: 0,
        "aria-labelledby": heading,
        "aria-posinset": place + 1,
        "aria-setsize": count,
        "data-number": sample.number,
      },
      this.pictures(sample),
      make(
        "div",
        { cls: "body" },
        this.meta(sample),
        make("h3", { id: heading, cls: "question" }, bdi(sample.question ?? `${sample.subset} ${sample.id}`)),
        this.options(sample),
        this.reference(sample),
        make("div", { cls: answers.length > 1 ? "answers two" : "answers" }, ...answers),
      ),
    );
  }

  pictures(sample) {
    const box = make("div", { cls: "pictures" });
    (sample.pictures ?? []).forEach((number, place) => {
      const url = this.picture(number);
      if (!url) return box.append(make("span", { cls: "nopicture" }, "picture can't be shown"));
      const image = make("img", { src: url, alt: "", loading: "eager", decoding: "async" });
      const button = make("button", { cls: "thumb", type: "button" }, image);
      button.setAttribute("aria-label", `Enlarge the picture of ${sample.subset} ${sample.id}`);
      button.addEventListener("click", () => this.enlarge(sample, place));
      box.append(button);
    });
    const others = (sample.media ?? []).slice((sample.pictures ?? []).length);
    for (const name of others) box.append(make("span", { cls: "nopicture" }, bdi(name)));
    if (!box.children.length) box.append(make("span", { cls: "nopicture" }, "no picture"));
    return box;
  }

  /** The data URL of a picture; null where there is none. */
  picture(number) {
    let stored = this.page.pictures[number];
    if (typeof stored === "number") stored = this.page.pictures[stored];
    return stored ? `data:image/webp;base64,${stored}` : null;
  }

  meta(sample) {
    const facts = [sample.subset, ...Object.values(sample.fields ?? {})];
    if (this.page.benchmarks.length > 1) facts.unshift(sample.benchmark);
    if (sample.repeat) facts.push(`repeat ${sample.repeat}`);
    const line = make("p", { cls: "meta" }, make("code", { cls: "id" }, bdi(sample.id)));
    for (const fact of facts) line.append(bdi(fact, "fact"));
    if (sample.change && sample.change !== "same") {
      line.append(make("span", { cls: `change ${sample.change}` }, CHANGES[sample.change]));
    }
    return line;
  }

  options(sample) {
    if (!sample.options) return null;
    const right = new Set(sample.references.map((label) => label.trim().toLowerCase()));
    const list = make("ol", { cls: "options" });
    for (const [label, text] of sample.options) {
      const isRight = right.has(label.toLowerCase());
      const by = this.columns.filter((column) => (sample.answers[column]?.extracted ?? "").split(",").includes(label));
      const who = this.columns.length > 1 ? ` ${by.map((column) => this.page.columns[column].number).join(", ")}` : "";
      const cls = [isRight ? "right" : "", by.length ? "given" : ""].join(" ").trim();
      const marks = [isRight ? "reference" : "", by.length ? `answer${who}` : ""].filter(Boolean).join(", ");
      const mark = marks ? make("span", { cls: "mark" }, marks) : null;
      list.append(make("li", { cls }, make("b", {}, label), " ", bdi(text), mark));
    }
    return list;
  }

  reference(sample) {
    if (!sample.references.length) return null;
    const values = sample.references.flatMap((text, index) => (index ? [" | ", bdi(text)] : [bdi(text)]));
    return make("p", { cls: "line" }, make("span", { cls: "label" }, "Reference"), make("span", { cls: "value" }, ...values));
  }

  answer(sample, column) {
    const answer = sample.answers[column];
    const box = make("div", { cls: "answer" });
    if (this.columns.length > 1) box.append(this.model(column));
    if (!answer) {
      box.append(make("p", { cls: "line" }, make("span", { cls: "muted" }, "not in this run")));
      return box;
    }
    const value = make("span", { cls: "value" });
    if (answer.extracted !== undefined) value.append(bdi(cut(answer.extracted, 300)));
    else value.append(make("span", { cls: "muted" }, answer.outcome === "not_run" ? "not reached" : "none"));
    const tag = make("span", { cls: `outcome ${answer.outcome}` }, OUTCOMES[answer.outcome]);
    if (answer.score !== undefined) tag.append(` ${answer.score.toFixed(3)}`);
    const guessed = answer.guessed ? make("span", { cls: "note" }, "guessed") : null;
    box.append(make("p", { cls: "line" }, make("span", { cls: "label" }, "Answer"), value, tag, guessed));
    if (answer.error) box.append(make("p", { cls: "error" }, bdi(answer.error)));
    for (const [name, said] of Object.entries(answer.details ?? {})) {
      if (!name.startsWith("judge ")) continue;
      const label = make("span", { cls: "label", title: name }, "Judge");
      box.append(make("p", { cls: "line judge" }, label, bdi(cut(said, 600), "said")));
    }
    if (answer.reply !== undefined) box.append(this.reply(sample, column, answer));
    return box;
  }

  model(column) {
    const { number, label } = this.page.columns[column];
    return make("p", { cls: "model" }, make("span", { cls: "place" }, String(number)), " ", bdi(label));
  }

  reply(sample, column, answer) {
    const key = `${sample.number}/${column}`;
    const details = make("details", {}, make("summary", {}, "Reply", make("span", { cls: "note" }, ` ${about(answer)}`)));
    const fill = () => {
      if (details.childElementCount > 1) return;
      const text = make("div", { cls: "reply", tabindex: 0, role: "group", "aria-label": "Reply" }, bdi(answer.reply || "(nothing)"));
      const facts = make("dl", { cls: "facts" });
      const add = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, bdi(value)));
      for (const [name, value] of Object.entries(answer.details ?? {})) add(name, value);
      const metrics = Object.entries(answer.metrics ?? {}).map(([name, value]) => `${name} ${value.toFixed(3)}`);
      if (metrics.length) add("metrics", metrics.join(", "));
      if (answer.finish_reason) add("finish", answer.finish_reason);
      if (answer.attempts) add("attempts", String(answer.attempts));
      add("node id", sample.nodeid);
      details.append(text, facts);
    };
    if (this.open.has(key)) {
      details.open = true;
      fill();
    }
    details.addEventListener("toggle", () => {
      if (details.open) this.open.add(key);
      else this.open.delete(key);
      fill();
    });
    return details;
  }
}

function about(answer) {
  const facts = [`${answer.length.toLocaleString("en")} characters`];
  if (answer.latency_s !== undefined) facts.push(`${answer.latency_s.toFixed(2)} s`);
  if (answer.tokens) facts.push(`${answer.tokens.map((count) => count.toLocaleString("en")).join(" + ")} tokens`);
  return facts.join(" · ");
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);
