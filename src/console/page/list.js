// SPDX-License-Identifier: Apache-2.0
// A list of any length: only the rows that can be seen are there, and their names are fetched a page
// at a time.
import { el } from "/console/dom.js";

const ROW = 28;
const PAGE = 1000;

export class List {
  // load(offset, limit) gives {names, n_found}; open(name) is called for the one that is chosen.
  constructor(label, load, open) {
    this.load = load;
    this.open = open;
    this.inner = el("div", { class: "inner" });
    this.box = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label, onkeydown: (e) => this.key(e) }, this.inner);
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.pages = new Map();
    this.total = 0;
    this.chosen = -1;
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  async refresh() {
    this.asked = (this.asked || 0) + 1;
    this.pages = new Map();
    await this.fetch(Math.floor(this.box.scrollTop / ROW / PAGE));
  }

  async fetch(page) {
    if (this.pages.has(page)) return;
    const asked = this.asked;
    this.pages.set(page, null);
    let answer;
    try {
      answer = await this.load(page * PAGE, PAGE);
    } catch (error) {
      this.pages.delete(page);
      throw error;
    }
    if (asked !== this.asked) return;
    this.pages.set(page, answer.names);
    this.total = answer.n_found;
    this.inner.style.height = this.total * ROW + "px";
    this.draw();
  }

  name(i) {
    const page = this.pages.get(Math.floor(i / PAGE));
    return page ? page[i % PAGE] : undefined;
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 5);
    const last = Math.min(this.total, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 5);
    const rows = [];
    for (let i = first; i < last; i++) {
      const name = this.name(i);
      if (name === undefined) this.fetch(Math.floor(i / PAGE)).catch(() => {});
      const row = el("div", {
        class: "item mono", role: "option", id: "row-" + i, text: name === undefined ? "…" : name, title: name,
        "aria-selected": i === this.chosen ? "true" : "false", "aria-setsize": this.total, "aria-posinset": i + 1,
        onclick: () => this.choose(i, true),
      });
      row.style.top = i * ROW + "px";
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
  }

  choose(i, opens) {
    if (i < 0 || i >= this.total) return;
    this.chosen = i;
    const top = i * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
    this.box.setAttribute("aria-activedescendant", "row-" + i);
    this.draw();
    if (opens && this.name(i) !== undefined) this.open(this.name(i));
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in moves) this.choose(Math.min(this.total - 1, Math.max(0, this.chosen + moves[event.key])), false);
    else if (event.key === "Home") this.choose(0, false);
    else if (event.key === "End") this.choose(this.total - 1, false);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.chosen, true);
    else return;
    event.preventDefault();
  }
}
