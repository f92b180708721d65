// A list of thousands of cards of which only those near the window are in the document.
//
// The window scrolls, not the list. Cards stand in normal flow between two paddings that take the place of the others,
// so a card may have any height and may change it. Heights are measured when a card is shown, and guessed before; where
// a guess above the window was wrong, the scroll position is corrected by as much as the cards have moved.

class CardList {
  /**
   * @param {HTMLElement} root where the cards stand
   * @param {(item: object, place: number, count: number) => HTMLElement} make makes a card
   * @param {() => number} covered pixels at the top of the window that something else covers
   */
  constructor(root, make, covered) {
    this.root = root;
    this.make = make;
    this.covered = covered;
    this.items = [];
    this.heights = new Map(); // of cards that were shown, by item
    this.guess = 180;
    this.shown = new Map(); // item -> element, in the order of the document
    this.first = 0;
    this.width = 0;
    this.offsets = null; // of each card from the first, and their end; null where heights have changed
    this.waiting = false;
    this.stale = true; // a card has another height than it had
    this.sizes = new ResizeObserver(() => {
      this.stale = true;
      this.later();
    });
    this.sizes.observe(root);
    addEventListener("scroll", () => this.later(), { passive: true });
    addEventListener("resize", () => this.later());
  }

  /** Show other items, or the same ones in another order; the cards are made anew. */
  set(items) {
    this.items = items;
    this.clear();
    this.render();
  }

  /** Make the cards anew. */
  clear() {
    for (const element of this.shown.values()) this.remove(element);
    this.shown.clear();
    this.offsets = null;
    this.stale = true;
  }

  /** Scroll until a card is at the top of what can be seen. */
  scrollTo(place) {
    for (let attempt = 0; attempt < 4; attempt++) {
      const top = this.shown.get(this.items[place])?.getBoundingClientRect().top ?? this.top() + this.offset(place);
      const off = top - this.covered();
      if (Math.abs(off) > 1) scrollBy({ top: off, behavior: "instant" });
      this.render();
      if (this.shown.has(this.items[place]) && Math.abs(off) <= 1) break;
    }
    return this.shown.get(this.items[place]);
  }

  /** The place of the first card that can be seen. */
  visible() {
    return this.at(this.covered() - this.top() + 1);
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  render() {
    if (this.root.clientWidth !== this.width) {
      this.width = this.root.clientWidth;
      this.heights.clear(); // lines break elsewhere
      this.offsets = null;
      this.stale = true;
    }
    if (!this.stale && this.covers(innerHeight / 3)) return;
    this.stale = false;
    const anchor = this.anchor();
    this.measure();
    for (let pass = 0; pass < 3; pass++) {
      const [first, last] = this.range(innerHeight);
      this.first = first;
      this.place(this.items.slice(this.first, last + 1));
      const changed = this.measure();
      this.pad();
      this.keep(anchor);
      if (!changed) break;
    }
  }

  /** The first and the last card in the window, and in a margin of so many pixels around it. */
  range(margin) {
    const top = this.top();
    return [this.at(-top - margin), this.at(-top + innerHeight + margin)];
  }

  /** All cards that shall be in the document are. */
  covers(margin) {
    const [first, last] = this.range(margin);
    return first >= this.first && last < this.first + this.shown.size;
  }

  /** A card that can be seen, and where: what must not move. */
  anchor() {
    for (const [item, element] of this.shown) {
      const box = element.getBoundingClientRect();
      if (box.bottom > this.covered()) return { item, top: box.top };
    }
    return null;
  }

  keep(anchor) {
    const element = anchor && this.shown.get(anchor.item);
    const moved = element ? element.getBoundingClientRect().top - anchor.top : 0;
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
  }

  /** Put exactly these items into the document. */
  place(items) {
    const wanted = new Set(items);
    for (const [item, element] of this.shown) {
      if (!wanted.has(item)) {
        this.remove(element);
        this.shown.delete(item);
      }
    }
    const ordered = new Map();
    let next = this.root.firstElementChild;
    items.forEach((item, index) => {
      let element = this.shown.get(item);
      if (element) {
        next = element.nextElementSibling;
      } else {
        element = this.make(item, this.first + index, this.items.length);
        this.root.insertBefore(element, next);
        this.sizes.observe(element);
      }
      ordered.set(item, element);
    });
    this.shown = ordered;
  }

  remove(element) {
    this.sizes.unobserve(element);
    if (element.contains(document.activeElement)) this.root.focus({ preventScroll: true });
    element.remove();
  }

  /** Take the heights of what is shown; true if one is not as it was thought to be. */
  measure() {
    let changed = false;
    for (const [item, element] of this.shown) {
      const height = element.getBoundingClientRect().height;
      if (Math.abs((this.heights.get(item) ?? -1) - height) < 0.5) continue;
      this.heights.set(item, height);
      changed = true;
    }
    if (changed) {
      let sum = 0;
      for (const height of this.heights.values()) sum += height;
      if (this.heights.size < 50) this.guess = sum / this.heights.size;
      this.offsets = null;
    }
    return changed;
  }

  pad() {
    const end = this.first + this.shown.size;
    this.root.style.paddingTop = `${this.offset(this.first)}px`;
    this.root.style.paddingBottom = `${this.offset(this.items.length) - this.offset(end)}px`;
  }

  /** Pixels from the first card to one. */
  offset(place) {
    if (!this.offsets) {
      this.offsets = new Float64Array(this.items.length + 1);
      this.items.forEach((item, index) => {
        this.offsets[index + 1] = this.offsets[index] + (this.heights.get(item) ?? this.guess);
      });
    }
    return this.offsets[place];
  }

  /** The place of the card that lies so many pixels from the first. */
  at(pixels) {
    this.offset(0);
    let low = 0;
    let high = Math.max(0, this.items.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle] <= pixels) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  top() {
    return this.root.getBoundingClientRect().top;
  }
}
