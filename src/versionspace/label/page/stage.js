// The displayed image and the next ones, fetched and decoded ahead of time, so that an answer never waits for the network.

import { $, isSmall, make, percent, post, say } from "./dom.js";

const AHEAD = 5;
const [ENLARGED, TIMES] = [480, 12]; // pixels, and times its own size: how far a small image is enlarged

export class Stage {
  constructor({ session, who, outbox, when, changed }) {
    Object.assign(this, { session, who, outbox, when, changed });
    this.current = null;
    this.ahead = [];
    this.generation = null;
    this.finished = "";
    this.filling = false;
    this.away = false; // whether the last request for images failed
    this.shownAt = 0;
    const frame = $("frame");
    frame.addEventListener("click", (event) => this.zoom(undefined, event));
    frame.addEventListener("pointermove", (event) => this.look(event));
  }

  // The current image and the next ones.
  single(ahead = this.ahead) {
    return [...(this.current ? [this.current] : []), ...ahead];
  }

  // Ids that the server must not send to this tab again.
  have(kept) {
    return [...new Set([...kept.map((task) => task.image), ...this.outbox.images()])].slice(0, 200);
  }

  async fill({ anew = false } = {}) {
    if (this.filling) return;
    this.filling = true;
    try {
      // A new model makes prefetched images outdated, except those that were undone or excluded from a grid.
      const mine = this.ahead.filter((task, place) => !anew || task.mine || place === 0);
      const kept = [...this.single(mine), ...(this.others?.() ?? [])];
      const want = Math.max(0, AHEAD - mine.length);
      const found = await post("/api/next", {
        session: this.session, who: this.who, have: this.have(kept), want, when: this.when(),
      });
      this.away = false;
      this.generation = found.generation;
      this.finished = found.finished;
      const known = new Set([this.current?.image, ...this.outbox.images()]);
      if (anew) this.ahead = this.ahead.filter((task) => task.mine || task === mine[0]);
      for (const task of this.ahead) known.add(task.image);
      for (const task of found.tasks) if (!known.has(task.image)) this.ahead.push(this.fetched(task));
      if (!this.current) this.advance();
    } catch (error) {
      this.away = true;
      if (!this.current) this.show(null);
      clearTimeout(this.later);
      this.later = setTimeout(() => this.fill(), 1000);
    } finally {
      this.filling = false;
    }
    this.countAhead();
    this.changed();
  }

  fetched(task) {
    const picture = make("img", { className: "picture", draggable: false, alt: "Image to label" });
    const address = `/image/${encodeURIComponent(task.image)}`;
    picture.decoding = "sync";
    task.picture = picture;
    task.ready = new Promise((resolve) => {
      picture.addEventListener("load", () => {
        resolve(true);
        this.countAhead();
      });
      picture.addEventListener("error", async () => {
        // An error response means a broken file; no response means the server is away: retry later.
        const answer = await fetch(address).catch(() => null);
        if (!answer || answer.ok) {
          setTimeout(() => (picture.src = address), 1000);
          return;
        }
        task.broken = true;
        resolve(false);
        if (this.current === task) this.show(task);
      });
    });
    picture.src = address;
    picture.decode?.().catch(() => {});
    return task;
  }

  // How many of the next images are loaded: with these, labelling continues while the server is away.
  countAhead() {
    $("frame").dataset.ahead = String(this.ahead.filter((task) => task.picture?.naturalWidth).length);
  }

  advance() {
    this.show(this.ahead.shift() ?? null);
    this.countAhead();
    if (this.ahead.length < AHEAD - 1) this.fill();
  }

  show(task) {
    this.current = task;
    this.zoom(false);
    const frame = $("frame");
    const banner = $("banner");
    banner.hidden = true;
    if (!task) {
      frame.replaceChildren(make("p", { className: "hint", textContent: this.waiting() }));
    } else if (task.broken) {
      frame.replaceChildren(make("p", { className: "broken", textContent:
        "This image cannot be displayed: its file is damaged, changed or missing. Mark it as a bad image and continue." }));
    } else {
      if (!task.picture) this.fetched(task);
      frame.replaceChildren(task.picture);
      task.ready.then((fine) => fine && isSmall(task.picture) && this.enlarge(task.picture));
    }
    if (task?.was !== undefined) {
      banner.hidden = false;
      banner.textContent = `Correcting: the answer was “${task.was}”. Undo keeps it.`;
    } else if (task?.again) {
      banner.hidden = false;
      banner.textContent = "A second look: this image has a label that may be wrong. Answer as if it were new.";
    }
    const when = task?.guess ? this.when() : "hidden";
    const guess = $("guess");
    guess.hidden = when !== "before";
    if (!guess.hidden) guess.textContent = `The model says ${task.guess.name} (${percent(task.guess.agreement)} of its members).`;
    if (task) Object.assign(task, { when, known: task.known || when === "before" });
    this.shownAt = performance.now();
    this.changed();
  }

  // What is shown while there is no image.
  waiting() {
    if (this.finished) return "";
    return this.away ? "The next image comes when the server is back." : "One moment…";
  }

  // A small image is enlarged only so far: beyond that it is harder to recognise.
  enlarge(picture) {
    const most = Math.max(ENLARGED, TIMES * Math.max(picture.naturalWidth, picture.naturalHeight));
    picture.classList.add("tiny");
    picture.style.maxWidth = picture.style.maxHeight = `${most}px`;
  }

  // Display a task now; the current one comes next.
  bring(task) {
    if (this.current) {
      this.current.mine = true;
      this.ahead.unshift(this.current);
    }
    task.mine = true;
    this.ahead = this.ahead.filter((other) => other.image !== task.image);
    this.show(task.picture ? task : this.fetched(task));
  }

  // After a grid: first the images excluded from it, then the image displayed before.
  mineFirst() {
    const count = this.ahead.findIndex((task) => !task.mine);
    if (!this.ahead[0]?.mine) return;
    if (this.current) {
      this.current.mine = true;
      this.ahead.splice(count < 0 ? this.ahead.length : count, 0, this.current);
    }
    this.show(this.ahead.shift());
  }

  // Remove the tasks for which this is true from the next ones and return them.
  take(wanted) {
    const taken = this.ahead.filter(wanted);
    this.ahead = this.ahead.filter((task) => !taken.includes(task));
    return taken;
  }

  seconds() {
    return Math.round(performance.now() - this.shownAt) / 1000;
  }

  zoom(on, event) {
    const frame = $("frame");
    const zoomed = on ?? !frame.classList.contains("zoomed");
    frame.classList.toggle("zoomed", zoomed && Boolean(this.current) && !this.current?.broken);
    $("zoom").setAttribute("aria-pressed", String(frame.classList.contains("zoomed")));
    if (event) this.look(event);
    if (on === undefined) say(frame.classList.contains("zoomed") ? "Zoomed" : "Whole image", { seconds: 1 });
  }

  look(event) {
    const picture = this.current?.picture;
    if (!picture || !$("frame").classList.contains("zoomed")) return;
    const box = $("frame").getBoundingClientRect();
    const across = (100 * (event.clientX - box.left)) / box.width;
    const down = (100 * (event.clientY - box.top)) / box.height;
    picture.style.transformOrigin = `${across}% ${down}%`;
  }
}
