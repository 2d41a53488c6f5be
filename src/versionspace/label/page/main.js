// The page's main module: identifies the tab and the person, handles answers, and exchanges state with the server.

import { Classes } from "./classes.js";
import { $, composing, get, make, name, percent, post, say } from "./dom.js";
import { Grid } from "./grid.js";
import { Keys, showLetters } from "./keys.js";
import { Outbox } from "./outbox.js";
import { drawRail, drawStatus } from "./side.js";
import { Stage } from "./stage.js";

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
const turns = { asked: 0, drawn: 0 };
const when = $("when");
when.value = localStorage.getItem("versionspace-when") ?? "hidden";
const classes = new Classes((chosen) => {
  if (grid.open) grid.fetch(chosen);
  else answer("class", chosen);
  if (document.activeElement === document.body) home();
});

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
  const one = { uid: name(), kind, image: task.image, name: chosen, seconds: taken, ...saw(task), ...more };
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
  if (grid.open) grid.leave();
  if (stage.current?.was !== undefined) {
    stage.advance();
    return;
  }
  if (!rail.length) await refresh();
  const last = rail.shift();
  if (!last) {
    say("There is nothing to undo.");
    return;
  }
  outbox.add({ uid: name(), kind: "undo", image: last.image, of: last.uid });
  if (last.earlier) say(`Undone: ${last.name ?? last.reason}. The earlier answer is kept.`);
  else {
    stage.bring({ ...(last.task ?? {}), image: last.image, was: undefined, guess: last.task?.guess ?? null });
    say(`Undone: ${last.name ?? last.reason}`);
  }
  showRail();
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
    drawStatus(state, { trouble: outbox?.trouble || "The server does not respond; your answers are stored in this browser." });
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
  showLetters(classes.many);
  drawStatus(state, { trouble: outbox?.trouble });
  showRail();
  finished();
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
  const key = [training, why, state.light.sentence].join();
  if ($("finished").dataset.key !== key) {
    const more = Math.max(10, 10 * Math.round(state.budget / 40));
    const parts = [
      make("h2", { textContent: training ? "Thank you. The last model is being trained." : "Done." }),
      make("p", { textContent: why }), make("p", { textContent: state.light.sentence }),
      make("p", { className: "hint", textContent: training ? "This page tells you when it is ready. You can close it: the "
        + "server keeps running." : "The labels and the classifier are in the campaign’s folder: export them with versionspace "
        + "export. You can still correct answers in the panel; the model is then trained again." }),
    ];
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
    say(`The budget is now ${found.budget} labels`);
    stage.finished = "";
    await refresh();
  } catch (error) {
    say(error.message, { seconds: 6 });
  }
}

function told(found) {
  if (found.generation !== undefined && stage && stage.generation !== null && found.generation !== stage.generation) {
    stage.fill({ anew: true });
  }
  if (state) drawStatus(state, { trouble: outbox?.trouble });
  clearTimeout(told.later);
  told.later = setTimeout(refresh, 250);
}

const toggleGrid = () => (grid.open ? grid.leave() : grid.enter());

function toggleSide() {
  const hidden = document.body.classList.toggle("no-side");
  $("to-side").setAttribute("aria-expanded", String(!hidden));
}

function newClass() {
  $("class-name").value = "";
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
    await post("/api/class", { name: wanted });
    $("adding").close();
    await refresh();
    say(`Added the class ${wanted}`);
  } catch (error) {
    $("class-trouble").textContent = error.message;
  }
}

// Focus an element with role=application, where screen readers pass keys on to the page.
function home() {
  if (document.querySelector("dialog[open]")) return;
  const place = grid.open ? $("cells").firstElementChild : $("finished").hidden ? $("single") : $("finished");
  if (!grid.open || !$("grid").contains(document.activeElement)) place?.focus({ preventScroll: true });
}

function wire() {
  new Keys({
    classes, grid,
    letters: [["u", () => answer("unsure")], ["x", () => answer("bad")], ["g", toggleGrid], ["z", () => stage.zoom()],
      ["n", newClass], ["p", toggleSide]],
    others: [[" ", () => answer("skip")], ["Backspace", undo], ["?", () => $("keys").showModal()]],
  });
  for (const made of document.querySelectorAll("[data-kind]")) {
    made.addEventListener("click", () => answer(made.dataset.kind));
  }
  $("undo").addEventListener("click", undo);
  $("zoom").addEventListener("click", () => stage.zoom());
  $("to-grid").addEventListener("click", toggleGrid);
  $("to-side").addEventListener("click", toggleSide);
  $("to-keys").addEventListener("click", () => $("keys").showModal());
  $("new-class").addEventListener("click", newClass);
  $("class-add").addEventListener("click", addClass);
  $("class-cancel").addEventListener("click", () => $("adding").close());
  $("class-name").addEventListener("keydown", (event) => event.key === "Enter" && !composing(event) && addClass());
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
    shown: (chosen) => classes.mark(chosen),
    answered: (task, chosen, seconds) => {
      const sent = send(task, "class", chosen, seconds, { grid: true });
      remember({ uid: sent.uid, image: task.image, name: chosen, reason: "", task, earlier: false });
    },
    left: (tasks, leaving) => {
      for (const task of [...tasks].reverse()) stage.ahead.unshift(stage.fetched({ ...task, mine: true }));
      if (leaving) stage.mineFirst();
      stage.fill();
      if (leaving) home();
    },
  });
  stage.others = () => grid.tasks;
  wire();
  draw();
  await stage.fill();
  home();
  setInterval(refresh, 1500);
}

start();
