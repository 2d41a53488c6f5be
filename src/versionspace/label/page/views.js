// The views of the page besides labelling, of which at most one is open: the review of all labels, and the classes.

import { $ } from "./dom.js";

export class Views {
  constructor(views, { left }) {
    Object.assign(this, { views, left, active: "" });
    for (const name of Object.keys(views)) $(`to-${name}`).addEventListener("click", () => this.toggle(name));
    $("to-grid").addEventListener("click", () => this.close(), { capture: true });
  }

  toggle(name) {
    if (this.active === name) this.close();
    else this.open(name);
  }

  open(name) {
    this.show(name);
    this.views[name].open();
  }

  close() {
    if (!this.active) return;
    this.show("");
    this.left();
  }

  show(active) {
    this.active = active;
    for (const name of Object.keys(this.views)) {
      $(name).hidden = name !== active;
      $(`to-${name}`).setAttribute("aria-pressed", String(name === active));
      document.body.classList.toggle(`in-${name}`, name === active);
    }
    document.body.classList.toggle("in-view", Boolean(active));
  }

  // The server's state has changed.
  update() {
    if (this.active) this.views[this.active].update();
  }

  // Handles a key while a view is open; returns whether it did. No key answers the image behind it.
  taken(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Escape") this.close();
    else if (key === "r" && !event.repeat) this.toggle("review");
    else if (key === "c" && !event.repeat) this.toggle("settings");
    else if (key === "?") $("keys").showModal();
    else return this.views[this.active].taken(event, key);
    return true;
  }
}
