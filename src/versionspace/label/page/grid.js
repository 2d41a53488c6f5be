// A grid of images that the model assigns to one class; the person clicks the exceptions and confirms the rest.

import { $, isSmall, make, name as newId, post, Refusal, say } from "./dom.js";

const GAP = 6; // pixels between two cells, as in the style sheet
const LOOK = 700; // milliseconds: longer than the pause between the two presses of a double click

export class Grid {
  constructor({ session, who, answered, have, left, shown, lost, state }) {
    Object.assign(this, { session, who, answered, have, left, shown, lost, state });
    this.open = false;
    this.tasks = [];
    this.out = new Set();
    this.shownAt = 0; // when the last image of this grid was loaded
    this.fetching = 0;
    this.turn = 0; // number of the newest request; responses to older ones are ignored
    this.offers = new Map(); // by class: how many images the model is sure about
    this.columns = 3;
    new ResizeObserver(() => this.arrange()).observe($("cells"));
    this.side = $("grid-side");
    this.side.value = localStorage.getItem("versionspace-side") ?? "3";
    this.side.addEventListener("change", () => {
      localStorage.setItem("versionspace-side", this.side.value);
      this.fetch();
    });
    $("grid-confirm").addEventListener("click", () => this.confirm());
    $("grid-leave").addEventListener("click", () => this.leave());
  }

  async enter() {
    if (!this.state()?.grid) {
      say(this.state()?.round ? "The grid needs the model’s guesses: they come with the next round."
        : "The grid needs a model: it shows images that the model assigns to one class.");
      return;
    }
    if (await this.fetch()) {
      this.open = true;
      this.swap();
      $("cells").firstElementChild?.focus();
    }
  }

  // Returns whether the new images are displayed. `done` is what was just confirmed: a refusal is shown behind it.
  async fetch(name = null, done = "") {
    const turn = (this.turn += 1);
    this.fetching += 1;
    this.settle();
    try {
      const side = Number(this.side.value);
      const asked = { session: this.session, who: this.who, side, name, have: this.have() };
      const found = await post("/api/grid", asked);
      if (turn !== this.turn) {
        this.left([]); // release the images on the server
        return false;
      }
      this.tasks = found.tasks.map((task) => ({ ...task, known: true })); // the grid's title reveals the model's guess
      this.name = found.name;
      this.offers = new Map(found.offers.map((one) => [one.name, one.images]));
      this.out.clear();
      this.draw();
      return true;
    } catch (error) {
      if (turn !== this.turn) return false;
      if (this.open && !this.tasks.length) this.leave();
      if (error instanceof Refusal) say(done ? `${done}. ${error.message}` : error.message, { seconds: 5 });
      else this.lost();
      return false;
    } finally {
      this.fetching -= 1;
      this.settle();
    }
  }

  // Display the images of a grid whose answers were taken back, with those that had been excluded from it.
  restore(tasks, name) {
    this.turn += 1;
    Object.assign(this, { tasks, name, open: true });
    const seen = new Set(tasks.filter((task) => task.excluded).map((task) => task.image));
    this.out.clear();
    this.swap();
    this.draw();
    for (const [place, task] of tasks.entries()) if (seen.has(task.image)) $("cells").children[place].click();
    $("cells").firstElementChild?.focus();
  }

  draw() {
    this.shownAt = performance.now();
    $("grid-question").replaceChildren("All of these are ", make("strong", { textContent: this.name }),
      " except those you click.");
    this.shown(this.name, this.offers.size ? this.offers : null);
    $("cells").replaceChildren(...this.tasks.map((task, place) => this.cell(task, place)));
    this.arrange();
    $("live").textContent = `${this.tasks.length} images classified as ${this.name}. Mark the exceptions.`;
  }

  // Choose the number of columns that shows the images largest, in cells of the shape that most of them have.
  arrange() {
    const box = $("cells");
    const count = this.tasks.length;
    if (!count || !box.clientWidth) return;
    const shapes = [...box.querySelectorAll("img")].filter((picture) => picture.naturalWidth)
      .map((picture) => picture.naturalWidth / picture.naturalHeight).sort((a, b) => a - b);
    const at = (share) => shapes[Math.floor(shapes.length * share)] ?? 1;
    const mixed = at(0.25) < 1 && at(0.75) > 1; // upright and wide ones: a square loses least
    const aspect = mixed ? 1 : Math.min(2, Math.max(0.5, at(0.5)));
    const width = (columns) => {
      const rows = Math.ceil(count / columns);
      const tall = (box.clientHeight - GAP * (rows - 1)) / rows;
      return Math.max(1, Math.floor(Math.min((box.clientWidth - GAP * (columns - 1)) / columns, tall * aspect)));
    };
    const columns = Array.from({ length: count }, (_, place) => place + 1);
    this.columns = columns.reduce((best, one) => (width(one) > width(best) ? one : best));
    box.style.setProperty("--columns", String(this.columns));
    box.style.setProperty("--width", `${width(this.columns)}px`);
    box.style.setProperty("--height", `${Math.floor(width(this.columns) / aspect)}px`);
  }

  cell(task, place) {
    const picture = make("img", { alt: "", draggable: false, src: `/image/${encodeURIComponent(task.image)}` });
    const made = make("button", { className: "cell", type: "button" }, picture,
      make("span", { className: "not", textContent: "not this", "aria-hidden": "true" }));
    picture.addEventListener("load", () => {
      picture.classList.toggle("tiny", isSmall(picture));
      if (!this.tasks.includes(task)) return; // belongs to an earlier grid
      this.arrange();
      this.shownAt = performance.now();
      this.settle();
    });
    const mark = (out) => {
      if (out) this.out.add(task.image);
      else this.out.delete(task.image);
      made.setAttribute("aria-pressed", String(out));
      this.settle();
    };
    let broken = false;
    picture.addEventListener("error", () => {
      picture.alt = "cannot be shown";
      broken = true;
      mark(true);
    });
    mark(false);
    made.setAttribute("aria-label", `Image ${place + 1}: not ${this.name}`);
    made.addEventListener("click", () => {
      if (broken) say("This image cannot be displayed here: it is shown again on its own.");
      else mark(!this.out.has(task.image));
    });
    task.seen = () => picture.complete && picture.naturalWidth > 0;
    return made;
  }

  move(key) {
    const cells = [...$("cells").children];
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[key];
    const place = Math.max(0, cells.indexOf(document.activeElement)) + step;
    cells[Math.min(cells.length - 1, Math.max(0, place))]?.focus();
  }

  fine() {
    return this.tasks.filter((task) => !this.out.has(task.image));
  }

  unseen() {
    return this.fine().filter((task) => !task.seen?.()).length;
  }

  // Milliseconds until the whole grid has been visible for LOOK milliseconds.
  pause() {
    return this.shownAt + LOOK - performance.now();
  }

  // aria-disabled shows whether the grid can be confirmed; a disabled button would lose the keyboard focus.
  settle() {
    clearTimeout(this.later);
    const shown = !this.fetching && this.tasks.length > 0 && !this.unseen();
    const pause = this.pause();
    $("grid-confirm").setAttribute("aria-disabled", String(!shown || pause > 0));
    if (shown && pause > 0) this.later = setTimeout(() => this.settle(), pause);
  }

  async confirm() {
    if (!this.tasks.length || this.fetching) return; // the next grid is loading
    const fine = this.fine();
    const unseen = this.unseen();
    if (unseen) {
      const which = unseen === 1 ? "An image is" : `${unseen} images are`;
      say(`${which} still loading: wait, or click those that you do not want to wait for.`, { seconds: 4 });
      return;
    }
    if (this.pause() > 0) return; // the second press of a double click, meant for the previous grid
    const seconds = (performance.now() - this.shownAt) / 1000 / Math.max(1, this.tasks.length);
    const grid = newId();
    for (const task of fine) this.answered(task, this.name, seconds, grid);
    for (const task of this.tasks) Object.assign(task, { excluded: this.out.has(task.image), grid });
    this.left(this.tasks.filter((task) => this.out.has(task.image)));
    const done = `${fine.length} × ${this.name}${this.out.size ? `; ${this.out.size} to label one by one` : ""}`;
    say(done);
    this.tasks = [];
    if (await this.fetch(null, done)) $("cells").firstElementChild?.focus();
  }

  leave() {
    this.turn += 1;
    this.open = false;
    this.tasks = [];
    this.shown("", null);
    this.swap();
    $("live").textContent = "One image at a time.";
    this.left([], true);
  }

  swap() {
    $("grid").hidden = !this.open;
    $("single").hidden = this.open;
    $("to-grid").setAttribute("aria-pressed", String(this.open));
    document.body.classList.toggle("in-grid", this.open);
  }
}
