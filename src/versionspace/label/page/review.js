// The review of all labels: cards to filter, select and relabel. Labels are loaded a page at a time, thumbnails as they
// come into sight.

import { AuditTables } from "./confusion.js";
import { $, get, isSmall, make, percent, post, say } from "./dom.js";

const LIMIT = 100; // labels on a page
const SHOWS = [["all", "All"], ["doubt", "Doubtful"], ["differs", "Differs from model"], ["mistakes", "Audit mistakes"],
  ["audit", "Audit"], ["unsure", "Unsure"], ["bad", "Bad image"], ["skipped", "Skipped"]];
const HINTS = {
  doubt: "Labels that contradict a confident guess of the model, or that two people gave differently.",
  differs: "The model was trained on these labels and still says something else: a hint that a label may be wrong, no proof.",
  mistakes: "The model was not trained on these. Correct a label only if it is a slip: labels changed because the model says so make the audit too good.",
  audit: "Images drawn at random that the model is not trained on: they measure it.",
};
const NAMELESS = "without a name";

export class Review {
  constructor({ state, outbox, send, classes }) {
    Object.assign(this, { state, outbox, send, classes });
    this.filter = { show: "all", name: null, guess: null, by: null, offset: 0 };
    this.rows = [];
    this.cards = new Map(); // by image
    this.selected = new Set();
    this.batches = []; // what Undo takes back, the last one last
    this.place = 0; // of the card that has the keyboard focus
    this.anchor = 0; // where a range of cards begins
    this.turn = 0;
    this.changes = -1;
    this.audit = new AuditTables({ chosen: (name, guess) => this.look({ show: "audit", name, guess }) });
    $("shows").replaceChildren(...SHOWS.map(([show, title]) => {
      const made = make("button", { type: "button", textContent: title });
      made.dataset.show = show;
      made.addEventListener("click", () => this.look({ show, guess: null }));
      return made;
    }));
    $("review-class").addEventListener("change", () => this.look({ name: $("review-class").value || null }));
    $("review-who").addEventListener("change", () => this.look({ by: JSON.parse($("review-who").value) }));
    $("review-guess").addEventListener("click", () => this.look({ guess: null }));
    $("page-back").addEventListener("click", () => this.look({ offset: Math.max(0, this.filter.offset - LIMIT) }));
    $("page-on").addEventListener("click", () => this.look({ offset: this.filter.offset + LIMIT }));
    $("select-all").addEventListener("click", () => this.selectAll());
    $("relabel").addEventListener("click", () => this.relabel("class", $("relabel-to").value));
    $("keep").addEventListener("click", () => this.keep());
    $("relabel-unsure").addEventListener("click", () => this.relabel("unsure"));
    $("relabel-bad").addEventListener("click", () => this.relabel("bad"));
    $("review-undo").addEventListener("click", () => this.undo());
    $("closer-open").addEventListener("click", () => this.closer());
  }

  open() {
    this.selected.clear();
    this.batches = [];
    this.load({ focus: true });
  }

  update() {
    if (this.state().changes !== this.changes && !this.outbox.waiting().length) this.load();
  }

  // Change the filter and load what it lets through.
  look(change) {
    Object.assign(this.filter, { offset: 0 }, change);
    this.selected.clear();
    this.place = 0;
    this.load();
  }

  async load({ focus = false } = {}) {
    const turn = (this.turn += 1);
    const { changes } = this.state();
    try {
      const [found, audit] = await Promise.all([post("/api/review", { ...this.filter, limit: LIMIT }),
        get("/api/review/audit")]);
      if (turn !== this.turn) return;
      this.changes = changes;
      this.filter.offset = found.offset;
      this.drawFilters(found);
      this.drawCards(found);
      this.audit.draw(audit);
      if (focus) this.focus();
    } catch (error) {
      if (turn === this.turn) $("no-cards").textContent = `The labels could not be loaded: ${error.message}.`;
    }
  }

  drawFilters({ counts, people }) {
    for (const made of $("shows").children) {
      const { show } = made.dataset;
      const title = SHOWS.find(([one]) => one === show)[1];
      made.setAttribute("aria-pressed", String(show === this.filter.show));
      made.replaceChildren(title, " ", make("span", { className: "count", textContent: String(counts[show]) }));
    }
    const names = this.state().classes.map((one) => one.name);
    options($("review-class"), [["", "all"], ...names.map((name) => [name, name])], this.filter.name ?? "");
    const chosen = $("relabel-to").value;
    options($("relabel-to"), names.map((name) => [name, name]), names.includes(chosen) ? chosen : names[0]);
    options($("review-who"), [["null", "all"], ...people.map((one) => [JSON.stringify(one), one || NAMELESS])],
      JSON.stringify(this.filter.by));
    $("review-people").hidden = people.length < 2;
    $("review-guess").hidden = this.filter.guess === null;
    $("review-guess").textContent = `Model says: ${this.filter.guess} ✕`;
    $("review-guess").setAttribute("aria-label", `Model says ${this.filter.guess}: remove this filter`);
    $("review-hint").textContent = HINTS[this.filter.show] ?? "";
    $("review-hint").hidden = !HINTS[this.filter.show];
  }

  drawCards({ rows, total, offset }) {
    const focused = $("cards").contains(document.activeElement);
    const there = new Set(rows.map((row) => row.image));
    for (const image of [...this.cards.keys()]) if (!there.has(image)) this.cards.delete(image);
    for (const image of [...this.selected]) if (!there.has(image)) this.selected.delete(image);
    this.rows = rows;
    const cards = rows.map((row) => this.card(row));
    if (cards.length !== $("cards").childElementCount || cards.some((one, at) => $("cards").children[at] !== one)) {
      $("cards").replaceChildren(...cards);
    }
    $("cards").hidden = !rows.length;
    $("no-cards").hidden = Boolean(rows.length);
    $("no-cards").textContent = "No labels here.";
    $("pages").hidden = total <= LIMIT;
    $("page-now").textContent = `${offset + 1}–${offset + rows.length} of ${total}`;
    $("page-back").disabled = offset === 0;
    $("page-on").disabled = offset + rows.length >= total;
    this.mark();
    if (focused) this.focus();
  }

  card(row) {
    let made = this.cards.get(row.image);
    if (!made) {
      const picture = make("img", { alt: "", loading: "lazy", draggable: false,
        src: `/image/${encodeURIComponent(row.image)}?small=true` });
      picture.addEventListener("load", () => picture.classList.toggle("tiny", isSmall(picture)));
      made = make("button", { className: "card", type: "button", role: "option" }, picture,
        make("span", { className: "label" }), make("span", { className: "model" }), make("span", { className: "badges" }));
      made.addEventListener("click", (event) => this.clicked(row.image, event));
      made.addEventListener("dblclick", () => this.closer(this.rows.find((one) => one.image === row.image)));
      this.cards.set(row.image, made);
    }
    const label = row.name ?? row.reason;
    const differs = row.guess && row.name !== null && row.guess.name !== row.name;
    const model = differs ? `model: ${row.guess.name} ${percent(row.guess.agreement)}` : "";
    const badges = [row.audit && "audit", row.doubtful && "doubt", row.checked && "checked"].filter(Boolean);
    made.querySelector(".label").textContent = label;
    made.querySelector(".label").classList.toggle("none", row.name === null);
    made.querySelector(".model").textContent = model;
    made.querySelector(".badges").replaceChildren(...badges.map((text) => make("span", { textContent: text })));
    const by = row.who ? `by ${row.who}` : "";
    made.setAttribute("aria-label", [label, model, ...badges, by].filter(Boolean).join(", "));
    made.title = [label, by, row.file].filter(Boolean).join(" · ");
    return made;
  }

  // Show which cards are selected and which one Tab reaches.
  mark() {
    this.place = Math.max(0, Math.min(this.place, this.rows.length - 1));
    for (const [place, row] of this.rows.entries()) {
      const made = this.cards.get(row.image);
      made.setAttribute("aria-selected", String(this.selected.has(row.image)));
      made.tabIndex = place === this.place ? 0 : -1;
    }
    const count = this.selected.size;
    $("selected").textContent = count ? `${count} selected` : "None selected";
    for (const id of ["relabel", "keep", "relabel-unsure", "relabel-bad", "closer-open"]) {
      $(id).setAttribute("aria-disabled", String(!count));
    }
    $("review-undo").setAttribute("aria-disabled", String(!this.batches.length));
    const all = count > 0 && count === this.rows.length;
    $("select-all").firstChild.textContent = all ? "Select none " : "Select all ";
  }

  focus() {
    const made = this.cards.get(this.rows[this.place]?.image);
    (made ?? $("shows").firstElementChild).focus({ preventScroll: !made });
  }

  clicked(image, event) {
    const place = this.rows.findIndex((row) => row.image === image);
    if (event.shiftKey) this.range(place);
    else {
      if (!this.selected.delete(image)) this.selected.add(image);
      this.anchor = place;
    }
    this.place = place;
    this.mark();
  }

  range(place) {
    const [from, to] = [Math.min(this.anchor, place), Math.max(this.anchor, place)];
    for (const row of this.rows.slice(from, to + 1)) this.selected.add(row.image);
  }

  selectAll() {
    if (this.selected.size === this.rows.length) this.selected.clear();
    else for (const row of this.rows) this.selected.add(row.image);
    this.mark();
  }

  // The selected labels; without any, that of the focused card.
  chosen() {
    const focused = this.cards.get(this.rows[this.place]?.image) === document.activeElement;
    const only = focused ? [this.rows[this.place]] : [];
    return this.selected.size ? this.rows.filter((row) => this.selected.has(row.image)) : only;
  }

  relabel(kind, name = null) {
    const rows = this.chosen();
    if (!rows.length) {
      say("Select labels first.");
      return;
    }
    this.store(rows, (row) => this.answer(row, kind, name));
    say(`${rows.length} × ${name ?? { unsure: "unsure", bad: "bad image" }[kind]}`);
  }

  // The label is right: it had its second look.
  keep() {
    const rows = this.chosen().filter((row) => row.name !== null);
    if (!rows.length) {
      say("Select labels first.");
      return;
    }
    this.store(rows, (row) => this.answer(row, "class", row.name));
    say(`${rows.length} checked`);
  }

  store(rows, answer) {
    this.batches.push(rows.map((row) => ({ image: row.image, of: answer(row).uid })));
    this.selected.clear();
    this.mark();
    if ($("review").contains(document.activeElement)) this.focus();
  }

  answer(row, kind, name) {
    const more = { again: true, review: true };
    return this.send({ image: row.image, guess: row.guess, known: Boolean(row.guess) }, kind, name, 0, more);
  }

  undo() {
    const batch = this.batches.pop();
    if (!batch) {
      say("There is nothing to undo here.");
      return;
    }
    for (const { image, of } of batch) this.outbox.undo(image, of);
    say(`Undone: ${batch.length} label${batch.length === 1 ? "" : "s"}`);
    this.mark();
  }

  async closer(row = this.chosen()[0]) {
    if (!row) {
      say("Select a label first.");
      return;
    }
    $("closer-image").src = `/image/${encodeURIComponent(row.image)}`;
    $("closer-answers").replaceChildren();
    $("closer").showModal();
    const guess = row.guess ? [make("li", { textContent: `The model: ${row.guess.name} (${percent(row.guess.agreement)} of its members)` })] : [];
    const { answers } = await get(`/api/review/${encodeURIComponent(row.image)}`).catch(() => ({ answers: [] }));
    const lines = answers.map((one) => make("li", { className: one.undone ? "undone" : "", textContent:
      `${one.name ?? (one.reason || "skipped")} · ${one.who || NAMELESS} · ${new Date(1000 * one.at).toLocaleString()}${one.undone ? " · taken back" : ""}` }));
    $("closer-answers").replaceChildren(...lines, ...guess);
  }

  // Keys of the review; class keys relabel what is selected.
  taken(event, key) {
    const control = event.target.closest("button, a, summary");
    const onCard = control?.matches(".card");
    if (key.startsWith("Arrow") && (onCard || !control)) return done(() => this.move(key, event.shiftKey));
    if (key === "Enter" && onCard) return done(() => event.repeat || this.closer());
    if (event.repeat) return false;
    if (key === "*") return done(() => this.selectAll());
    if (key === "=") return done(() => this.keep());
    if (key === "Backspace") return done(() => this.undo());
    if (key === "u") return done(() => this.relabel("unsure"));
    if (key === "x") return done(() => this.relabel("bad"));
    return this.classes.keys.has(key) && done(() => this.relabel("class", this.classes.keys.get(key)));
  }

  move(key, extend) {
    const tops = [...$("cards").children].map((one) => one.offsetTop);
    const columns = Math.max(1, tops.findIndex((top) => top !== tops[0]) < 0 ? tops.length : tops.findIndex((top) => top !== tops[0]));
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
    if (!extend) this.anchor = this.place;
    const focused = $("cards").contains(document.activeElement);
    this.place = Math.max(0, Math.min(this.rows.length - 1, this.place + (focused ? step : 0)));
    if (extend) this.range(this.place);
    this.mark();
    this.focus();
  }
}

function done(what) {
  what();
  return true;
}

function options(select, pairs, value) {
  const key = JSON.stringify(pairs);
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(...pairs.map(([one, text]) => make("option", { value: one, textContent: text })));
  }
  select.value = value;
}
