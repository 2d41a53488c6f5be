// The page's main module: identifies the tab and the person, handles answers, and exchanges state with the server.

import { ClassSettings } from "./class_settings.js";
import { Classes } from "./classes.js";
import { $, composing, get, make, name, percent, post, say } from "./dom.js";
import { Grid } from "./grid.js";
import { Keys, showKeys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Results } from "./results.js";
import { Review } from "./review.js";
import { drawRail, drawStatus } from "./side.js";
import { Stage } from "./stage.js";
import { Views } from "./views.js";

const address = new URL(location.href);
// Split by code points: half a surrogate pair would make the server reject every answer.
const who = [...(address.searchParams.get("as") ?? "").replace(/[\u0000-\u001f\u007f]/g, "")].slice(0, 40).join("");
const DAY = 86400;
address.searchParams.delete("token");
history.replaceState(null, "", address);

let state = null;
let rail = [];
let outbox;
let stage;
let grid;
let views;
const turns = { asked: 0, drawn: 0 };
const when = $("when");
when.value = localStorage.getItem("versionspace-when") ?? "hidden";
const classes = new Classes({
  chosen: (chosen) => {
    if (grid.open) grid.fetch(chosen);
    else answer("class", chosen);
    if (document.activeElement === document.body) home();
  },
  missing: (text) => newClass(text),
  changed: () => showKeys(classes),
});
const results = new Results({ changed: () => refresh(), labelling: (told) => resume(told) });
const narrow = matchMedia("(max-width: 52rem)");

// One session per tab: a reload keeps it, a duplicated tab gets a new one.
async function session() {
  const known = sessionStorage.getItem("versionspace-session");
  const mine = known ?? name();
  const free = !navigator.locks || (await new Promise((resolve) => {
    navigator.locks.request(`versionspace-${mine}`, { ifAvailable: true }, (lock) => {
      resolve(Boolean(lock));
      return lock && new Promise(() => {});
    });
  }));
  const kept = free && (navigator.locks || !known) ? mine : name();
  sessionStorage.setItem("versionspace-session", kept);
  return kept;
}

function answer(kind, chosen = null) {
  const task = stage.current;
  if (!task || grid.open) return;
  if (task.broken && kind === "class") {
    say("This image cannot be displayed: mark it as a bad image, or skip it.");
    return;
  }
  if (!task.broken && !task.picture.naturalWidth && kind === "class") {
    say("This image is still loading.");
    return;
  }
  const word = chosen ?? { skip: "skipped", unsure: "unsure", bad: "bad image" }[kind];
  const sent = send(task, kind, chosen, stage.seconds(), { again: Boolean(task.again) });
  remember({ uid: sent.uid, image: task.image, name: chosen, reason: chosen === null ? word : "", task,
    earlier: task.was !== undefined || Boolean(task.again) });
  if (chosen) classes.flash(chosen);
  const said = task.when === "after"
    ? `You: ${word}. The model: ${task.guess.name} (${percent(task.guess.agreement)} of its members).` : "";
  if (said) task.known = true; // if this answer is undone, the guess has been seen
  stage.advance();
  if (said) say(said, { seconds: 4 });
  else $("live").textContent = `${word}. Next image.`;
}

function send(task, kind, chosen, seconds, more = {}) {
  const taken = Math.min(seconds, DAY); // a tab may have been left open
  const one = { uid: name(), kind, image: task.image, name: chosen, seconds: taken, edition: state.edition,
    ...saw(task), ...more };
  outbox.add(one);
  return one;
}

// What the person saw of the guess. The model and the setting may have changed since the image was served.
function saw({ guess, known, when: then = "hidden" }) {
  const shown = known ? "before" : then;
  if (!guess || shown === "hidden") return { when: "hidden" };
  return { when: shown, guess: { name: guess.name, agreement: guess.agreement } };
}

function remember(entry) {
  rail = [entry, ...rail.filter((one) => one.image !== entry.image)];
  setTimeout(showRail, 40); // after the next image is displayed
}

const showRail = () => drawRail(rail, correct);

function correct(one) {
  if (grid.open) grid.leave();
  if (stage.current?.image === one.image) return;
  stage.bring({ ...(one.task ?? {}), image: one.image, was: one.name ?? one.reason, broken: false });
  $("live").textContent = `Correcting: the answer was ${one.name ?? one.reason}.`;
}

async function undo() {
  if (grid.open && !rail[0]?.grid) grid.leave();
  if (!grid.open && stage.current?.was !== undefined) {
    stage.advance();
    return;
  }
  if (!rail.length) await refresh();
  const last = rail.shift();
  if (!last) {
    say("There is nothing to undo.");
    return;
  }
  const takeBack = (one) => outbox.undo(one.image, one.uid);
  takeBack(last);
  if (last.grid) undoGrid(last, takeBack);
  else if (last.earlier) say(`Undone: ${last.name ?? last.reason}. The earlier answer is kept.`);
  else {
    stage.bring({ ...taskOf(last), was: undefined });
    say(`Undone: ${last.name ?? last.reason}`);
  }
  showRail();
}

// The task of an answer; after a reload, what the person saw of the guess comes from the server.
function taskOf({ image, task, guess }) {
  return task ? { ...task, image } : { image, guess: guess ?? null, known: Boolean(guess) };
}

// Take back all answers of the grid that this one belongs to, and display that grid again.
function undoGrid(last, takeBack) {
  const others = rail.filter((one) => one.grid === last.grid);
  rail = rail.filter((one) => one.grid !== last.grid);
  others.forEach(takeBack);
  const confirmed = [last, ...others].reverse().map((one) => ({ ...taskOf(one), excluded: false }));
  grid.restore([...confirmed, ...stage.take((task) => task.excluded && task.grid === last.grid)], last.name);
  stage.fill();
  say(`Undone: ${confirmed.length} × ${last.name}`);
}

async function refresh() {
  const turn = ++turns.asked;
  try {
    const given = outbox?.count;
    const quiet = outbox && !outbox.waiting().length;
    const found = await get(`/api/status?session=${stage?.session ?? ""}&who=${encodeURIComponent(who)}`);
    if (turn < turns.drawn) return; // a late response is older than what is displayed
    turns.drawn = turn;
    state = found;
    // With a list from before the last answer, Backspace would undo the wrong one.
    if (quiet && given === outbox.count && !outbox.waiting().length) {
      const tasks = new Map(rail.map((one) => [one.uid, one.task]));
      rail = found.rail.map((one) => ({ ...one, task: tasks.get(one.uid) }));
    }
    draw();
  } catch (error) {
    if (turn < turns.drawn) return;
    if (!state) {
      missed(error);
      return;
    }
    const shut = error.status === 401 && "The access key is no longer valid: open the address shown in the terminal.";
    if (outbox && shut) outbox.trouble = shut;
    const away = "The server does not respond; your answers are stored in this browser.";
    drawStatus(state, { trouble: outbox?.trouble || away, who });
  }
}

// Without any state the page would be empty: show why.
function missed(error) {
  const why = error.status === 401 ? document.querySelector(".cookieless").textContent
    : "The server does not respond; the page continues when it is back.";
  if ($("frame").textContent === why) return;
  $("frame").replaceChildren(make("p", { className: "broken", textContent: why }));
  $("live").textContent = why;
}

function draw() {
  classes.update(state.classes);
  showKeys(classes);
  drawStatus(state, { trouble: outbox?.trouble, who });
  results.draw(state);
  showRail();
  finished();
  views?.update();
  if (stage && stage.generation !== null && state.round !== stage.generation) stage.fill({ anew: true });
  else if (stage && !stage.current && !stage.finished) stage.fill();
}

function finished() {
  const over = Boolean(stage?.finished) && !stage.current && !outbox.waiting().length;
  const was = !$("finished").hidden;
  $("finished").hidden = !over;
  $("single").hidden = over || grid.open;
  document.body.classList.toggle("over", over);
  if (!over) return;
  const training = !state.ended;
  const why = stage.finished === "budget" ? `All ${state.budget} labels of the budget are used.`
    : `There is nothing left to label: ${stage.finished}.`;
  const key = [training, why, state.light.sentence, state.results.final].join();
  if ($("finished").dataset.key !== key) {
    const more = Math.max(10, 10 * Math.round(state.budget / 40));
    const parts = [
      make("h2", { textContent: training ? "Thank you. The last model is being trained." : "Done." }),
      make("p", { textContent: why }), make("p", { textContent: state.light.sentence }),
      make("p", { className: "hint", textContent: training ? "This page tells you when it is ready. You can close it: the "
        + "server keeps running." : "You can still correct answers in the panel; the model is then trained again." }),
    ];
    if (!training) parts.splice(3, 0, ...results.summary(state));
    if (stage.finished === "budget") {
      parts.push(make("button", { id: "more", textContent: `Label ${more} more`, onclick: () => raise(more) }));
    }
    const focused = document.activeElement?.id === "more";
    $("finished").dataset.key = key;
    $("finished").replaceChildren(...parts);
    if (focused) $("more")?.focus();
  }
  if (!was) $("finished").focus();
}

async function raise(by) {
  try {
    const found = await post("/api/budget", { total: state.done + by });
    await resume(`The budget is now ${found.budget} labels`);
  } catch (error) {
    say(error.message, { seconds: 6 });
  }
}

// Ask for other images: the budget has changed, or random images come first.
async function resume(told) {
  say(told, { seconds: 4 });
  stage.finished = "";
  stage.ahead = stage.ahead.filter((task) => task.mine);
  await refresh();
  stage.fill({ anew: true });
}

function told(found) {
  if (found.generation !== undefined && stage && stage.generation !== null && found.generation !== stage.generation) {
    stage.fill({ anew: true });
  }
  if (state) drawStatus(state, { trouble: outbox?.trouble, who });
  clearTimeout(told.later);
  told.later = setTimeout(refresh, 250);
}

function setSharp(sharp) {
  document.body.classList.toggle("sharp", sharp);
  $("sharp").setAttribute("aria-pressed", String(sharp));
  localStorage.setItem("versionspace-sharp", String(sharp));
}

function toggleSharp() {
  const sharp = !document.body.classList.contains("sharp");
  setSharp(sharp);
  say(sharp ? "Sharp pixels" : "Smoothed", { seconds: 1 });
}

const toggleGrid = () => (grid.open ? grid.leave() : grid.enter());

// On a narrow screen the panel is a sheet over the page.
function toggleSide(hide) {
  const hidden = document.body.classList.toggle("no-side", hide);
  $("to-side").setAttribute("aria-expanded", String(!hidden));
  if (!narrow.matches) return;
  if (hidden) home();
  else $("close-side").focus();
}

function newClass(text = "") {
  $("class-name").value = [...text].slice(0, 60).join("");
  $("class-trouble").textContent = "";
  $("adding").showModal();
  $("class-name").focus();
}

async function addClass() {
  const wanted = $("class-name").value.trim();
  if (!wanted) {
    $("class-trouble").textContent = "Enter a name.";
    return;
  }
  try {
    await post("/api/class", { name: wanted, who });
    $("adding").close();
    await refresh();
    say(`Added the class ${wanted}`);
    if ($("find").value) $("find").focus(); // Enter now chooses what was typed
  } catch (error) {
    $("class-trouble").textContent = error.message;
  }
}

// Focus an element with role=application, where screen readers pass keys on to the page.
function home() {
  const sheet = narrow.matches && !document.body.classList.contains("no-side");
  if (sheet || views?.active || document.querySelector("dialog[open]")) return;
  const place = grid.open ? $("cells").firstElementChild : $("finished").hidden ? $("single") : $("finished");
  if (!grid.open || !$("grid").contains(document.activeElement)) place?.focus({ preventScroll: true });
}

function wire() {
  new Keys({
    classes, grid, views,
    letters: [["u", () => answer("unsure")], ["x", () => answer("bad")], ["g", toggleGrid], ["z", () => stage.zoom()],
      ["s", toggleSharp], ["n", () => newClass()], ["p", () => toggleSide()], ["d", () => results.open()],
      ["r", () => views.toggle("review")], ["c", () => views.toggle("settings")]],
    others: [[" ", () => answer("skip")], ["Backspace", undo], ["?", () => $("keys").showModal()]],
  });
  for (const made of document.querySelectorAll("[data-kind]")) {
    made.addEventListener("click", () => answer(made.dataset.kind));
  }
  for (const id of ["undo", "grid-undo"]) $(id).addEventListener("click", undo);
  $("zoom").addEventListener("click", () => stage.zoom());
  $("to-grid").addEventListener("click", toggleGrid);
  $("sharp").addEventListener("click", toggleSharp);
  for (const id of ["to-side", "close-side", "shade"]) $(id).addEventListener("click", () => toggleSide());
  $("side").addEventListener("keydown", (event) => event.key === "Escape" && narrow.matches && toggleSide(true));
  narrow.addEventListener("change", () => toggleSide(narrow.matches));
  $("to-keys").addEventListener("click", () => $("keys").showModal());
  $("new-class").addEventListener("click", () => newClass());
  $("class-add").addEventListener("click", addClass);
  $("class-cancel").addEventListener("click", () => $("adding").close());
  $("class-name").addEventListener("keydown", (event) => event.key === "Enter" && !event.repeat && !composing(event)
    && addClass());
  when.addEventListener("change", () => {
    localStorage.setItem("versionspace-when", when.value);
    home();
    stage.ahead = stage.ahead.filter((task) => task.mine);
    stage.fill();
  });
  // A button clicked with the mouse must not keep the keyboard focus.
  document.addEventListener("click", (event) => event.detail && event.target.closest("main button, nav button") && home());
  addEventListener("pagehide", () => {
    const body = { session: stage.session, who, leaving: true };
    post("/api/next", body, { keepalive: true }).catch(() => {});
  });
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

async function start() {
  const mine = await session();
  while (!state) {
    await refresh();
    if (!state) await new Promise((resolve) => setTimeout(resolve, 500));
  }
  outbox = new Outbox({ campaign: state.campaign, session: mine, who, told });
  stage = new Stage({ session: mine, who, outbox, when: () => when.value, changed: finished });
  grid = new Grid({
    session: mine, who, state: () => state, have: () => stage.have(stage.single()),
    shown: (chosen, offers) => classes.mark(chosen, offers),
    lost: refresh,
    answered: (task, chosen, seconds, batch) => {
      const sent = send(task, "class", chosen, seconds, { grid: batch });
      remember({ uid: sent.uid, image: task.image, name: chosen, reason: "", grid: batch, task, earlier: false });
    },
    left: (tasks, leaving) => {
      for (const task of [...tasks].reverse()) stage.ahead.unshift(stage.fetched({ ...task, mine: true }));
      if (leaving) stage.mineFirst();
      stage.fill();
      if (leaving) home();
    },
  });
  stage.others = () => grid.tasks;
  views = new Views({
    review: new Review({ state: () => state, outbox, send, classes }),
    settings: new ClassSettings({ state: () => state, who, add: () => newClass(), changed: refresh }),
  }, { left: () => { stage.shownAt = performance.now(); home(); } });
  wire();
  if (narrow.matches) toggleSide(true);
  setSharp(localStorage.getItem("versionspace-sharp") === "true");
  draw();
  await stage.fill();
  home();
  setInterval(refresh, 1500);
}

start();
